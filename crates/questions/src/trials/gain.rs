//! What a change gains, with its interval.

/// An interval is narrow enough below this share of the gain, or below this gain.
const OF_GAIN: f64 = 0.2;
const GAIN: f64 = 0.003;

/// Requests come in bursts where pieces differ by this part of their mean.
const BURSTS: f64 = 0.25;
/// Fewer pieces than these say nothing of how much chance there is in them.
const FEWEST: usize = 4;

/// A relative change, 0.02 for 2 % more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The mean.
    pub mean: f64,
    /// Half-width of its 95 % interval; zero where all agree.
    pub half_width: f64,
}

impl Shift {
    /// None at all.
    pub const NONE: Shift = Shift { mean: 0.0, half_width: 0.0 };

    /// The same of a figure of which less is better: where a latency is half of what it was, the gain is 1, and the
    /// latency changes by -0.5.
    pub fn inverse(self) -> Shift {
        let becomes = 1.0 / (1.0 + self.mean);
        Shift { mean: becomes - 1.0, half_width: self.half_width * becomes * becomes }
    }

    /// How large it is at least, either way; zero where its interval reaches zero.
    pub fn sure(self) -> f64 {
        (self.mean.abs() - self.half_width).max(0.0)
    }

    /// Whether its interval is below a fifth of it, or below 0.3 points.
    pub fn is_narrow(self) -> bool {
        self.half_width <= (self.mean.abs() * OF_GAIN).max(GAIN)
    }

    /// In words: `+12.3 %`, and `+12.3 % (±4.5)` where its interval is wide.
    pub fn words(self) -> String {
        // Minus nothing is nothing.
        let percent = (1_000.0 * self.mean).round() / 10.0 + 0.0;
        let wide = if self.is_narrow() { String::new() } else { format!(" (±{:.1})", 100.0 * self.half_width) };
        format!("{percent:+.1} %{wide}")
    }
}

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// To the throughput.
    pub throughput: Shift,
    /// To the mean latency: 1 means that it is half of what it was.
    pub latency: Shift,
}

impl Gain {
    /// Nothing at all.
    pub const NONE: Gain = Gain { throughput: Shift::NONE, latency: Shift::NONE };
}

/// The same requests before and after.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    /// Time a byte, before and after.
    pub(super) time: [f64; 2],
    /// Latencies, added up.
    pub(super) latency: [f64; 2],
    /// Whether it is of the later half.
    pub(super) later: bool,
}

/// Whether requests of the setting as it is come in bursts.
pub(super) fn are_bursts(pieces: &[Piece]) -> bool {
    let count = pieces.len();
    count >= FEWEST && mean(pieces).1 * (count as f64).sqrt() / student(count - 1) > BURSTS
}

/// The gain over some pieces: of their sums; its interval from how they differ.
pub(super) fn gain<'a>(pieces: impl Iterator<Item = &'a Piece> + Clone) -> Gain {
    let shift = |of: fn(&Piece) -> [f64; 2]| {
        let n = pieces.clone().count() as f64;
        let sum = |side: usize| pieces.clone().map(|piece| of(piece)[side]).sum::<f64>();
        let (before, after) = (sum(0), sum(1));
        if n < 1.0 || after <= 0.0 {
            return Shift::NONE;
        }
        let ratio = before / after;
        if n < 2.0 {
            return Shift { mean: ratio - 1.0, half_width: f64::INFINITY };
        }
        // Of a ratio of sums, by its linear part.
        let squares: f64 = pieces.clone().map(|piece| (of(piece)[0] - ratio * of(piece)[1]).powi(2)).sum();
        let error = (squares / (n * (n - 1.0).max(1.0))).sqrt() / (after / n);
        let error = if error < 1e-9 { 0.0 } else { error };
        Shift { mean: ratio - 1.0, half_width: student(n as usize - 1) * error }
    };
    Gain { throughput: shift(|piece| piece.time), latency: shift(|piece| piece.latency) }
}

/// Mean time a byte of the setting as it is, and half-width of its 95 % interval over it.
pub(super) fn mean(pieces: &[Piece]) -> (f64, f64) {
    let n = pieces.len() as f64;
    let mean = pieces.iter().map(|piece| piece.time[0]).sum::<f64>() / n;
    let squares: f64 = pieces.iter().map(|piece| (piece.time[0] - mean).powi(2)).sum();
    (mean, student(pieces.len() - 1) * (squares / (n * (n - 1.0))).sqrt() / mean)
}

/// Student's t of a two-sided 95 % interval.
fn student(freedom: usize) -> f64 {
    const FIRST: [f64; 8] = [f64::INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365];
    match freedom {
        0..=7 => FIRST[freedom],
        8..=14 => 2.306,
        15..=29 => 2.131,
        _ => 2.045,
    }
}
