//! Seek curves: files of measured times, and formulas.

use super::language::{Block, decimal};
use crate::problem::{Problem, place};

/// Cylinders and picoseconds.
pub(super) type Point = (u64, u64);

/// Most points of a curve.
const MOST_POINTS: usize = 2_000;

/// Whether a text is a file of measured seek times: two or more numbers on its first line, or the headline.
pub(super) fn is_curve(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    first.starts_with("Seek distances measured") || parts(first).is_some()
}

fn parts(line: &str) -> Option<Point> {
    let mut words = line.split(',').map(str::trim);
    let (distance, time) = (words.next()?, words.next()?);
    Some((decimal(distance, 0)?.try_into().ok()?, decimal(time, 9)?.try_into().ok()?))
}

/// Reads such a file: a distance and a time in milliseconds on each line; what follows them is not used.
pub(super) fn read(file: u32, text: &str) -> Result<Vec<Point>, Problem> {
    let mut points: Vec<Point> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = start..start + line.trim_end().len();
        start += line.len();
        if line.trim().is_empty() || line.starts_with("Seek distances measured") {
            continue;
        }
        let wrong = |title: &str, label: &str| Problem::at(place(file, span.clone()), title).label(label);
        let point = parts(line).ok_or_else(|| wrong("this is no point of a seek curve", "expected `distance, ms`"))?;
        if points.last().is_some_and(|last| last.0 >= point.0) || point.0 == 0 {
            return Err(wrong("the distances do not rise", "expected a longer distance than on the line before"));
        }
        if points.len() == MOST_POINTS {
            return Err(wrong("this curve has too many points", &format!("expected at most {MOST_POINTS}")));
        }
        points.push(point);
    }
    if points.len() < 2 {
        return Err(Problem::at(place(file, 0..0), "this seek curve has fewer than two points"));
    }
    Ok(points)
}

/// The curve spans the disk: its first point is one cylinder, its last one at least `farthest`. Says what was added.
pub(super) fn span(points: &mut Vec<Point>, farthest: u64) -> Option<String> {
    let mut added = Vec::new();
    if points[0].0 > 1 {
        points.insert(0, (1, points[0].1));
        added.push("1 cylinder as the first point".to_string());
    }
    let [.., before, last] = points[..] else { return None };
    if last.0 < farthest {
        // On along the line through the last two points, but never down.
        let rise =
            last.1.saturating_sub(before.1) as u128 * u128::from(farthest - last.0) / u128::from(last.0 - before.0);
        points.push((farthest, last.1.saturating_add(u64::try_from(rise).unwrap_or(0))));
        added.push(format!("{farthest} cylinders on the line through the last two points"));
    }
    (!added.is_empty()).then(|| format!("the seek curve does not span the disk: added {}", added.join(", and ")))
}

/// A curve that is a formula: `hpl`, `hplplus10`, `constant`, `linear`, `curve`.
pub(super) fn formula(mechanics: &Block, kind: &str, farthest: u64) -> Result<Vec<Point>, Problem> {
    match kind {
        "hpl" | "hplplus10" => hpl(mechanics, kind == "hplplus10", farthest),
        "constant" => {
            let time = picoseconds(mechanics, "Average seek time")?;
            Ok(vec![(1, time), (farthest.max(2), time)])
        }
        "linear" | "curve" => {
            let single = picoseconds(mechanics, "Single cylinder seek time")?;
            let average = picoseconds(mechanics, "Average seek time")?;
            let full = picoseconds(mechanics, "Full strobe seek time")?;
            let third = (farthest / 3).max(2);
            Ok(vec![(1, single), (third, average), (farthest.max(third + 1), full)])
        }
        other => {
            let field = mechanics.field("Seek type")?;
            Err(Problem::at(field.value_place, format!("`{other}` is no type of seek curve that can be imported"))
                .label("expected extracted, hpl, hplplus10, linear, curve or constant"))
        }
    }
}

fn picoseconds(block: &Block, key: &str) -> Result<u64, Problem> {
    let field = block.field(key)?;
    let time = field.scaled(9)?;
    u64::try_from(time).map_err(|_| Problem::at(field.value_place, format!("`{key}` is negative")))
}

/// Ruemmler and Wilkes: a root below a distance, a line above it; the first ten distances may be measured.
fn hpl(mechanics: &Block, with_ten: bool, farthest: u64) -> Result<Vec<Point>, Problem> {
    let field = mechanics.field("HPL seek equation values")?;
    let values = field.numbers(9)?;
    let [boundary, a, b, c, d, single] = values[..] else {
        let title = format!("`{}` has {} numbers", field.key, values.len());
        return Err(Problem::at(field.value_place, title).label("expected six"));
    };
    let (boundary, ps) = (boundary as f64 / 1e9, |value: i128| value as f64);
    let of = |distance: u64| {
        let far = distance as f64;
        let time = if far < boundary { ps(a) + ps(b) * far.sqrt() } else { ps(c) + ps(d) * far };
        time.clamp(0.0, 1e15) as u64
    };
    let ten = if with_ten { mechanics.field("First ten seek times")?.numbers(9)? } else { Vec::new() };
    let mut points = Vec::new();
    let mut distance = 1;
    while distance < farthest {
        let measured = ten.get(distance as usize - 1).and_then(|&time| u64::try_from(time).ok());
        let first = (distance == 1).then(|| u64::try_from(single).ok()).flatten();
        points.push((distance, measured.or(first).unwrap_or_else(|| of(distance))));
        // Near enough that a line between two points is the root within a thousandth.
        distance += (distance / 16).max(1);
    }
    points.push((farthest.max(distance), of(farthest.max(distance))));
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_read_to_the_picosecond_and_a_wrong_line_is_shown() {
        let text = "Seek distances measured: 2\n1,\t1.94300\n\n4, 2.175, 0.02\n";
        assert!(is_curve(text) && is_curve("1, 0.5, 0.02\n") && !is_curve("disksim_disk A {"));
        assert_eq!(read(0, text).unwrap(), [(1, 1_943_000_000), (4, 2_175_000_000)]);
        for (wrong, part) in [
            ("1, 1\n1, 2", "do not rise"),
            ("1, 1\nfar, 2", "no point"),
            ("1, -1\n", "no point"),
            ("1, 1\n", "fewer than two"),
        ] {
            let problem = read(0, wrong).expect_err(wrong);
            assert!(problem.title.contains(part), "{problem:?}");
        }
    }

    #[test]
    fn a_curve_that_ends_early_goes_on_along_its_last_line() {
        let mut points = vec![(2, 1_000), (4, 3_000)];
        assert!(span(&mut points, 6).unwrap().contains("6 cylinders"));
        assert_eq!(points, [(1, 1_000), (2, 1_000), (4, 3_000), (6, 5_000)]);
        assert_eq!(span(&mut points, 6), None);
    }
}
