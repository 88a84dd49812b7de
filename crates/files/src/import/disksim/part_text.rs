//! The part file of a drive that was read.

use std::fmt::Write;

use super::controller::{Controller, OVERHEADS};
use super::disk::Disk;

/// Writes it. `names` are the files: of the electronics, and of the media.
pub(super) fn write(title: &str, names: &[String; 2], disk: &Disk, controller: &Controller) -> String {
    let [drive, model] = names.each_ref().map(|name| quoted(name));
    let layout = &disk.layout;
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let title = if title.trim().is_empty() { "Imported drive" } else { title };
    line("model = \"scsi-disk\"".into());
    line(format!("title = {}", quoted(&title.replace('_', " "))));
    line(String::new());
    let numbers = [
        ("rotation", format!("{} rpm", disk.rpm)),
        ("heads", format!("{} heads", layout.heads)),
        ("sectors", format!("{} sectors", disk.sectors)),
        ("head_switch", time(disk.head_switch)),
        ("write_settle", time(disk.write_settle)),
        ("read_settle", time(disk.read_settle)),
    ];
    for (key, value) in numbers {
        line(format!("{key:<12} = {{ value = \"{value}\", source = {model} }}"));
    }
    line(format!("\n[layout]\nbasis       = {{ source = {model} }}"));
    line(format!("heads       = \"{}\"\nspare_group = \"{} tracks\"", layout.order, layout.group_tracks));
    line(format!("\n[zones]\nbasis = {{ source = {model} }}\nrows = ["));
    for zone in &layout.zones {
        line(format!(
            "    {{ first_cylinder = \"{} cylinders\", cylinders = \"{} cylinders\", sectors_per_track = \"{} sectors\", \
             track_skew = \"{} sectors\", cylinder_skew = \"{} sectors\", offset = \"{} sectors\", \
             front = \"{} sectors\", spares = \"{} sectors\" }},",
            zone.first_cylinder,
            zone.cylinders,
            zone.sectors_per_track,
            zone.track_skew,
            zone.cylinder_skew,
            zone.offset,
            zone.front,
            zone.spares
        ));
    }
    line("]".into());
    line(format!("\n# By zone, from 0.\n[slips]\nbasis = {{ source = {model} }}\nrows = ["));
    let slips =
        layout.zones.iter().enumerate().flat_map(|(index, zone)| zone.slips.iter().map(move |slip| (index, *slip)));
    let mut slips: Vec<(usize, (u64, u64))> = slips.collect();
    if slips.is_empty() {
        slips.push((0, (0, 0)));
    }
    for (index, (first, sectors)) in slips {
        line(format!(
            "    {{ zone = \"{index} zones\", first = \"{first} sectors\", sectors = \"{sectors} sectors\" }},"
        ));
    }
    line("]".into());
    let between = if disk.seek_by_root { "square root" } else { "straight line" };
    let from = quoted(&disk.seek_from);
    line(format!("\n[seek]\nbasis   = {{ source = {from} }}\nbetween = \"{between}\"\nrows = ["));
    for (distance, span) in &disk.seek {
        line(format!("    {{ distance = \"{distance} cylinders\", time = \"{}\" }},", time(*span)));
    }
    line("]".into());
    electronics(&mut out, &drive, controller);
    out
}

fn electronics(out: &mut String, drive: &str, controller: &Controller) {
    let (basis, words) = match &controller.rate.from {
        Ok(file) => ("source", quoted(file)),
        Err(reason) => ("assumed", quoted(reason)),
    };
    let rate = format!("{{ value = \"{}\", {basis} = {words} }}", controller.rate.text);
    let _ = write!(
        out,
        "\n[interface]\nbasis           = {{ source = {drive} }}\nrate            = {rate}\nstays_connected = true\n\
         \n[queue]\nbasis      = {{ source = {drive} }}\ndepth      = \"{} commands\"\nscheduling = \"{}\"\n\
         \n[buffer]\nbasis                = {{ source = {drive} }}\nsegments             = \"{} segments\"\n\
         segment              = \"{} sectors\"\n\
         burst                = {{ value = \"{} sectors\", assumed = \"half of a segment crosses the bus while the other half fills\" }}\n\
         high_water           = \"{}\"\nlow_water            = \"{}\"\nwater_of             = \"{}\"\n\
         read_ahead           = \"{} sectors\"\nread_ahead_to        = \"{}\"\n\
         read_ahead_after     = \"every read\"\nread_ahead_after_hit = {}\nwrite_segments       = \"{} segments\"\n\
         \n[overhead]\nbasis = {{ source = {drive} }}\n",
        controller.depth,
        controller.scheduling,
        controller.segments,
        controller.segment,
        controller.burst,
        percent(controller.high_water),
        percent(controller.low_water),
        controller.water_of,
        controller.read_ahead,
        controller.read_ahead_to,
        controller.read_ahead_after_hit,
        controller.write_segments,
    );
    for ((name, _), span) in OVERHEADS.iter().zip(controller.overheads) {
        let _ = writeln!(out, "{name:<22} = \"{}\"", time(span));
    }
}

/// Parts per million as text, exactly.
fn percent(ppm: i128) -> String {
    let text = format!("{}.{:04}", ppm / 10_000, ppm % 10_000);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Picoseconds as text, exactly.
fn time(ps: u64) -> String {
    let (whole, rest) = (ps / 1_000_000, ps % 1_000_000);
    if rest == 0 {
        return format!("{whole} us");
    }
    let digits = format!("{rest:06}");
    format!("{whole}.{} us", digits.trim_end_matches('0'))
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .filter(|letter| !letter.is_control())
        .take(200)
        .flat_map(|letter| if matches!(letter, '"' | '\\') { vec!['\\', letter] } else { vec![letter] })
        .collect();
    // A basis has at least some letters.
    if escaped.len() < 6 { format!("\"file {escaped}\"") } else { format!("\"{escaped}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_exactly() {
        assert_eq!(
            [time(0), time(1_943_000_000), time(1), time(613_070_500)],
            ["0 us", "1943 us", "0.000001 us", "613.0705 us"]
        );
    }

    #[test]
    fn texts_are_quoted_whatever_they_hold() {
        assert_eq!(quoted("a\"b\\c\nd.model"), "\"a\\\"b\\\\cd.model\"");
    }
}
