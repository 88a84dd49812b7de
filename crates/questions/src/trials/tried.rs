//! One change, tried out: its run goes on until it says enough.

use super::gain::{Gain, Piece, Shift, gain, mean};
use super::glance::Glances;
use super::rest::{AT_REST, Moving};
use super::run::{Live, PIECES, pieces};
use super::{Failure, LONGER, PARTS, PARTS_OF_ONE_SEED, Setting, Trials};

/// After so many parts it is asked whether they say enough.
const STEPS: [usize; 6] = [1, 2, 3, 4, 6, PARTS[0]];
/// Where it is only asked whether something gains, an interval of this share of the gain says so.
const SURE: f64 = 0.3;
/// Halves that differ by more than this do not say the same, whatever their intervals.
const HALVES: f64 = 0.005;
/// A ramp is made longer so many times, at most.
const LONGER_MAX: u32 = 2;
/// Events of a trial beyond its first part, and of all that are made at once.
const EVENTS_AGAIN: u64 = 4_000_000;
/// The same where another seed has no ramp of its jobs.
const EVENTS_AGAIN_BEHIND: u64 = 2_500_000;
const EVENTS_AGAIN_OF_ALL: u64 = 48_000_000;

/// Events of each of so many trials beyond its first part, of what all of them may cost.
fn share_of_all(trials: usize) -> u64 {
    EVENTS_AGAIN_OF_ALL / trials.max(1) as u64
}

/// What going on with a trial may cost and has cost, in events beyond its first part: what it comes to depends on how many
/// are made at once only where they cannot afford it.
#[derive(Clone, Copy, Default)]
struct Budget {
    /// What a trial may cost, however few there are.
    most: u64,
    /// The most that it went on for.
    spent: u64,
    /// What would have been too much; nothing where nothing was.
    too_much: Option<u64>,
}

impl Budget {
    /// Whether one of so many trials may go on that will have cost so much; it does, if it may.
    fn affords(&mut self, cost: u64, trials: usize) -> bool {
        let affords = cost <= self.share(trials);
        if affords {
            self.spent = self.spent.max(cost);
        } else {
            self.too_much = Some(cost);
        }
        affords
    }

    /// Whether one of so many trials would have gone on for as long.
    fn is_the_same_of(&self, trials: usize) -> bool {
        let share = self.share(trials);
        self.spent <= share && self.too_much.is_none_or(|cost| cost > share)
    }

    fn share(&self, trials: usize) -> u64 {
        self.most.min(share_of_all(trials))
    }
}

/// What is asked of a change.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Asked {
    /// Whether it makes any difference to the requests that are looked at.
    Difference,
    /// What it does, as far as a look shows.
    Look,
    /// The same as soon as much can be told from little.
    Roughly,
    /// What it gains.
    Gain,
    /// The same, as long as that can come to be known to so much.
    GainTo(f64),
    /// Whether it gains for sure.
    ToGain,
}

impl Asked {
    fn is_a_look(self) -> bool {
        matches!(self, Asked::Look | Asked::Roughly)
    }
}

/// What is known of a change.
#[derive(Clone, Copy, Default)]
pub(super) struct Tried {
    /// Parts that have counted.
    parts: usize,
    longer: u32,
    gain: Option<Gain>,
    refused: bool,
    /// It said enough.
    pub(super) done: bool,
    budget: Budget,
}

impl Tried {
    /// A part refuses it.
    pub(super) fn refused() -> Tried {
        Tried { refused: true, done: true, ..Tried::default() }
    }

    /// A look at it settles it.
    pub(super) fn settled(gain: Gain) -> Tried {
        Tried { gain: Some(gain), done: true, ..Tried::default() }
    }

    /// As far as a look shows.
    pub(super) fn looked_at(gain: Gain) -> Tried {
        Tried { gain: Some(gain), ..Tried::default() }
    }

    /// What it gains; nothing where it is refused, or was not tried.
    pub(super) fn gain(&self) -> Option<Gain> {
        self.gain.filter(|_| !self.refused)
    }

    /// What is known where the setting as it is has another rhythm that gains so much: what makes no difference to any
    /// request makes none to its rhythm either.
    pub(super) fn beside(self, rhythm: Option<f64>) -> Tried {
        match (self.gain, rhythm) {
            (Some(gain), Some(rhythm)) if gain != Gain::NONE => {
                Tried { gain: Some(gain.beside_another_rhythm(rhythm)), ..self }
            }
            _ => self,
        }
    }

    /// Whether it would have said the same as one of so many trials.
    pub(super) fn is_the_same_of(&self, trials: usize) -> bool {
        self.budget.is_the_same_of(trials)
    }

    /// So many parts gave these pieces.
    fn judge(&mut self, parts: usize, pieces: &[Piece], moving: Moving, asked: Asked) {
        let mut all = gain(pieces.iter());
        // What a change gains differs with what there is to gain, and is known no better than that.
        let Shift { mean: gained, half_width } = all.throughput;
        all.throughput.half_width = half_width.max(gained.abs() * mean(pieces).1);
        let [early, late] = [false, true].map(|half| gain(pieces.iter().filter(move |piece| piece.later == half)));
        let apart = (early.throughput.mean - late.throughput.mean).abs();
        let blur = early.throughput.half_width.hypot(late.throughput.half_width);
        // What moves less than the gain is known to may as well be chance.
        let fills = moving.sure > AT_REST.max(all.throughput.half_width / (1.0 + all.throughput.mean));
        if fills {
            // As fast as now while it fills, and slower by so much once it is full.
            let half = (1.0 + all.throughput.mean) * moving.share / 2.0;
            let Shift { mean, half_width } = all.throughput;
            all.throughput = Shift { mean: mean - half, half_width: half_width.max(half) };
        }
        let moves = (fills || apart > blur + HALVES) && self.longer < LONGER_MAX;
        (self.gain, self.parts) = (Some(all), parts);
        if moves && parts > 1 {
            // What has not come to rest by now takes longer.
            (self.longer, self.parts) = (self.longer + 1, 0);
        }
        if moves {
            return;
        }
        // With all parts the interval will be about so wide.
        let at_best = all.throughput.half_width * (parts as f64 / PARTS[0] as f64).sqrt();
        let is_hopeless = parts > 1 && all.throughput.mean < at_best;
        let is_sure = all.throughput.half_width < SURE * all.throughput.mean;
        let is_settled = asked == Asked::ToGain && (is_hopeless || is_sure);
        let is_unknowable = matches!(asked, Asked::GainTo(worth) if at_best > worth);
        // What may be nothing with all parts, too, is not worth another seed.
        let may_be_nothing = parts >= PARTS_OF_ONE_SEED && all.throughput.mean.abs() < at_best;
        self.done = all.throughput.is_narrow() || is_settled || is_unknowable || may_be_nothing;
    }
}

impl Trials<'_> {
    /// Asks something of one of so many changes.
    pub(super) fn try_one(
        &self,
        (change, of): (&Setting, usize),
        asked: Asked,
        glances: Glances,
    ) -> Result<Tried, Failure> {
        let first = self.effort.seeds[0];
        let mut lives = match self.live(change, first)? {
            Ok(live) => vec![live],
            Err(from_the_beginning) => {
                let glances = from_the_beginning.glances()?;
                return from_the_beginning.try_one((change, of), asked, glances);
            }
        };
        let is_faster = change.blueprint.is_faster_than(&self.setting.blueprint);
        let glance = glances.of(is_faster);
        if asked == Asked::Difference {
            let is_same = self.is_same(&mut lives[0], glances.of_difference(is_faster))?;
            return Ok(if is_same { Tried::settled(Gain::NONE) } else { Tried::default() });
        }
        // What says something after fewer requests is asked first.
        let (soon, late) = glances.even_around(glance);
        if let Some(known) = self.evenly(&mut lives[0], &soon)? {
            return Ok(known);
        }
        if let Some(glance) = glance
            && let Some(glanced) = self.look(&mut lives[0], glance, asked)?
            && (asked.is_a_look() || glanced.done)
        {
            return Ok(glanced);
        }
        if let Some(known) = self.evenly(&mut lives[0], &late)? {
            return Ok(known);
        }
        let (mut tried, mut of_first) = (Tried::default(), 0);
        tried.budget.most = if self.from_the_beginning.is_some() { EVENTS_AGAIN_BEHIND } else { EVENTS_AGAIN };
        // What gains hardly anything is not worth another seed.
        let most = if asked == Asked::ToGain { self.parts_of_one_seed() } else { self.parts_max };
        while let Some(wanted) = STEPS.into_iter().find(|step| (tried.parts + 1..=most).contains(step)) {
            let spent: u64 = lives.iter().map(Live::events).sum();
            let each = spent / lives.iter().map(Live::ended).sum::<usize>().max(1) as u64;
            let cost = spent - of_first + self.cost(&tried, wanted, each)?;
            if tried.gain.is_some() && !tried.budget.affords(cost, of) {
                break;
            }
            let (parts, pieces) = self.pieces_of(change, &mut lives, tried.longer, wanted)?;
            let moving = self.moving(&lives[0], tried.longer)?;
            if pieces.is_empty() || parts <= tried.parts {
                break;
            }
            if of_first == 0 {
                of_first = lives.iter().map(Live::events).sum();
            }
            tried.judge(parts, &pieces, moving, asked);
            if tried.done || asked.is_a_look() || (tried.parts > 0 && parts < wanted) {
                break;
            }
        }
        Ok(tried)
    }

    /// What fills or empties behind a ramp in a changed machine, and could be waited for behind the longest one.
    fn moving(&self, live: &Live, longer: u32) -> Result<Moving, Failure> {
        let before = self.before((longer, self.effort.seeds[0]))?;
        let ended = live.ended();
        let from = self.counted(&before, longer, 1).start.min(ended);
        let counted = (ended - from).max(1) as f64;
        let awaited = from as f64 * LONGER.pow(LONGER_MAX - longer) as f64 / counted;
        Ok(live.moving(&before, from, awaited))
    }

    /// Events of going on to so many parts, about, where a request costs so many: each seed has its ramp.
    fn cost(&self, tried: &Tried, wanted: usize, each: u64) -> Result<u64, Failure> {
        let before = self.before((0, self.effort.seeds[0]))?;
        let one = self.counted(&before, 0, 1);
        let seeds = |parts: usize| parts.div_ceil(self.parts_of_one_seed()) as u64;
        let ramps = (seeds(wanted) - seeds(tried.parts)) * one.start as u64 * LONGER.pow(tried.longer);
        Ok((ramps + (one.len() * (wanted - tried.parts)) as u64) * each)
    }

    /// Goes on to so many parts, seed by seed: how many there are, and what they gave.
    fn pieces_of(
        &self,
        change: &Setting,
        lives: &mut Vec<Live>,
        longer: u32,
        wanted: usize,
    ) -> Result<(usize, Vec<Piece>), Failure> {
        let first = self.effort.seeds[0];
        let (mut parts, mut all) = (0, Vec::new());
        for (number, seed) in (first..).enumerate() {
            if number > 0 && self.before((0, seed))?.transfers == self.before((0, first))?.transfers {
                // The same once more says nothing more.
                break;
            }
            let before = self.before((longer, seed))?;
            let one = self.counted(&before, longer, 1);
            let has = (before.transfers.len().saturating_sub(one.start) / one.len().max(1)).max(1);
            let asked = (wanted - parts).min(has).min(self.parts_of_one_seed());
            let counted = self.counted(&before, longer, asked);
            if number == lives.len() {
                let Ok(live) = self.live(change, seed)? else { break };
                lives.push(live);
            }
            lives[number].go_on(counted.end, &before, self.ramp(longer) + self.runtime(longer))?;
            let after = lives[number].transfers();
            let counted = counted.start..counted.end.min(after.len());
            // Longer pieces say better how much chance there is in them.
            all.extend(pieces(&before.transfers, &after, counted, PIECES * (asked / 2).clamp(1, 2)));
            parts += asked;
            if parts >= wanted {
                break;
            }
        }
        Ok((parts, all))
    }
}

#[cfg(test)]
mod tests {
    use hopscope_machine::run::{Options, run};

    use super::super::Begun;
    use super::*;

    /// Eight pieces, of which each takes by turns so much more and so much less than it might: before and after.
    fn pieces(apart: f64, times: impl Fn(f64) -> [f64; 2]) -> Vec<Piece> {
        let of = |piece: u32| {
            let times = times(if piece.is_multiple_of(2) { 1.0 + apart } else { 1.0 - apart });
            Piece { time: times, latency: times, later: piece >= 4 }
        };
        (0..8).map(of).collect()
    }

    /// What so many parts with these pieces say.
    fn judged(parts: usize, pieces: &[Piece], asked: Asked) -> Tried {
        let mut tried = Tried::default();
        tried.judge(parts, pieces, Moving::default(), asked);
        tried
    }

    #[test]
    fn going_on_costs_what_its_requests_cost_and_the_ramp_of_a_further_seed() {
        let setting = Setting::shipped("piix4e-one-disk", "--rw=randread --bs=64k --runtime=1 --time_based");
        let outcome = run(&setting.blueprint, &setting.jobs, Options::default(), None).expect("it runs");
        let trials =
            Trials::foreseen(&setting, 1, &outcome, Begun::default()).expect("it runs").expect("requests ended");
        let tried = |parts| Tried { parts, ..Tried::default() };
        let cost = |from: usize, wanted, each| trials.cost(&tried(from), wanted, each).expect("it ran before");
        assert_eq!(cost(1, 2, 30), 30 * cost(1, 2, 1));
        assert_eq!(cost(1, 3, 1), 2 * cost(1, 2, 1));
        let another_seed = cost(PARTS_OF_ONE_SEED, PARTS_OF_ONE_SEED + 1, 1);
        assert!(another_seed > cost(1, 2, 1), "{another_seed}");
    }

    #[test]
    fn a_trial_is_one_of_others_where_it_could_go_on_for_as_long() {
        let of = |most: u64, trials: usize, costs: &[u64]| {
            let mut budget = Budget { most, ..Budget::default() };
            let _ = costs.iter().all(|cost| budget.affords(*cost, trials));
            (budget.spent, [1, 12, 16, 24, 48].map(|others| budget.is_the_same_of(others)))
        };
        // Twelve can go on for 4 million events each, 24 for 2 million, and 48 for a million.
        assert_eq!(of(4_000_000, 12, &[]), (0, [true; 5]));
        assert_eq!(of(4_000_000, 12, &[500_000, 1_500_000]), (1_500_000, [true, true, true, true, false]));
        assert_eq!(of(4_000_000, 24, &[1_000_000, 2_500_000]), (1_000_000, [false, false, false, true, true]));
        assert_eq!(of(4_000_000, 12, &[1_000_000, 4_500_000]), (1_000_000, [true; 5]));
        // However few there are, it could not.
        assert_eq!(of(2_500_000, 12, &[2_000_000, 2_600_000]), (2_000_000, [true, true, true, true, false]));
    }

    #[test]
    fn a_gain_is_known_no_better_than_the_time_that_it_is_of() {
        // Each gains a tenth, whatever it takes.
        let known = |apart| {
            let tried = judged(1, &pieces(apart, |by| [1.1 * by, 1.1 * by / 1.1]), Asked::Gain);
            (tried.gain().expect("it is tried").throughput, tried.done)
        };
        let [(even, even_done), (uneven, uneven_done)] = [0.01, 0.5].map(known);
        assert!(even_done && !uneven_done && even.half_width < 0.002, "{even:?} {uneven:?}");
        assert!((uneven.mean - 0.1).abs() < 1e-9 && (0.03..0.06).contains(&uneven.half_width), "{uneven:?}");
    }

    #[test]
    fn what_may_be_nothing_after_one_seed_and_after_all_is_not_tried_with_another() {
        // What it gains, give or take.
        let is_done = |gain: f64, parts| judged(parts, &pieces(0.1, |by| [1.0, by / (1.0 + gain)]), Asked::Gain).done;
        let half_width = gain(pieces(0.1, |by| [1.0, by]).iter()).throughput.half_width;
        for (gained, parts, expected) in [
            (0.0, PARTS_OF_ONE_SEED, true),
            (0.0, PARTS_OF_ONE_SEED - 1, false),
            (half_width / 2.0, PARTS_OF_ONE_SEED, true),
            // With twice as many parts it may turn out to be a gain.
            (half_width * 0.9, PARTS_OF_ONE_SEED, false),
            (half_width * 0.9, PARTS[0], true),
            (-half_width / 2.0, PARTS_OF_ONE_SEED, true),
        ] {
            assert_eq!(is_done(gained, parts), expected, "{gained} after {parts}, of ±{half_width}");
        }
    }

    #[test]
    fn a_gain_is_left_once_it_cannot_come_to_be_known_as_well_as_it_is_worth() {
        let is_done = |apart, asked| judged(1, &pieces(apart, |by| [1.0, by]), asked).done;
        // Known to a quarter after one part of eight, and to a twelfth after all of them.
        assert!(is_done(0.3, Asked::GainTo(0.05)));
        assert!(!is_done(0.3, Asked::GainTo(0.2)) && !is_done(0.3, Asked::Gain));
        assert!(is_done(0.003, Asked::GainTo(0.05)) && is_done(0.003, Asked::Gain));
    }
}
