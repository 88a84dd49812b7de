//! The pages of what changes would buy: every upgrade and every number, or given changes before and after.

mod before_after;

use hopscope_machine::blueprint::Blueprint;
use hopscope_questions::whatif::{
    Effort, Limit, Only, Performance, Sensitivities, Sensitivity, Shift, Upgrade, Upgrades, json,
};
use serde_json::Value;

use crate::charts::bars::{self, Change, Changes, Effect};
use crate::explain::numbers;
use crate::map;
use crate::page::{Behind, Block, Chapter, Figure, Kind, Page, Section, Tile};
use crate::table::{Cell, Table, Tone};
use crate::wording::{gained, percent, rate, signed_percent, slug, span, span_ps};

pub use before_after::comparison;

/// Effects below this share are left to the table.
const SHOWN_MIN: f64 = 0.001;
/// Numbers that get bars, at most.
const SHOWN_MAX: usize = 24;

/// Every upgrade and every number of a machine.
pub struct Outlook<'a> {
    /// The system, as the command line names it.
    pub system: &'a str,
    /// The job, as the command line names it.
    pub job: &'a str,
    /// The machine as it is.
    pub blueprint: &'a Blueprint,
    /// What upgrades buy.
    pub upgrades: &'a Upgrades,
    /// What numbers do.
    pub sensitivities: &'a Sensitivities,
    /// Where all of that is of the beginning of the jobs only.
    pub only: Option<&'a Only>,
}

/// The page of all upgrades and numbers.
pub fn outlook(outlook: &Outlook, command: &str) -> Page {
    let Outlook { system, job, blueprint, upgrades, sensitivities, only } = outlook;
    let map = map::at_rest(blueprint, limiting(upgrades.limit.as_ref()));
    let mut sections = vec![Section::new("glance", "The machine at a glance").block(Block::Figures(vec![map], 2))];
    sections.push(upgrade_section(upgrades));
    sections.push(sensitivity_section(sensitivities));
    let ranged: Vec<&Sensitivity> = sensitivities.numbers.iter().filter(|n| n.holds_until.is_some()).collect();
    if !ranged.is_empty() {
        let words =
            "Each was moved on in the direction that helps, until a step brought less than half of the first one.";
        let table = Block::Table(ranges(&ranged));
        sections.push(Section::new("ranges", "How far that goes").words(words).block(table));
    }
    sections.push(numbers(blueprint));
    let before = &upgrades.before;
    let mut answer = vec![match upgrades.upgrades.first().filter(|best| best.gain > SHOWN_MIN) {
        Some(best) => format!("{} would buy most: {}.", best.title, signed_percent(best.gain)),
        None => "No shipped upgrade that fits would make it faster.".into(),
    }];
    answer.push(format!("As it is, it is limited by {}.", limit_words(upgrades.limit.as_ref())));
    answer.extend(only.map(|only| only.words(span)));
    let mut tiles = performance_tiles("As it is", before);
    if let Some(best) = upgrades.upgrades.first() {
        tiles.push(tile("Best upgrade", signed_percent(best.gain), best.title.clone(), Tone::Good));
    }
    if let Some(most) = sensitivities.numbers.first() {
        tiles.push(tile("Most sensitive to", most.parameter.clone(), format!("now {}", most.value), Tone::Plain));
    }
    let title = format!("What would make {system} faster");
    let data = json::outlook(system, upgrades, sensitivities, *only);
    page((title, command), (system, job, blueprint), (answer, tiles, sections), data)
}

/// A page of one chapter about a machine.
fn page(
    (title, command): (String, &str),
    (system, job, blueprint): (&str, &str, &Blueprint),
    (answer, tiles, sections): (Vec<String>, Vec<Tile>, Vec<Section>),
    data: Value,
) -> Page {
    let chapter = Chapter {
        id: slug(&format!("whatif {system}")),
        title: blueprint.title.clone(),
        source: format!("{}; {system}, {job}", blueprint.title),
        answer,
        tiles,
        sections,
        data,
        csvs: Vec::new(),
    };
    Page { title, command: command.to_string(), chapters: vec![chapter] }
}

fn tile(name: &str, figure: String, about: String, tone: Tone) -> Tile {
    Tile { name: name.into(), figure, about, tone }
}

fn performance_tiles(when: &str, got: &Performance) -> Vec<Tile> {
    let about = format!("{} transfers, mean latency {}", got.transfers, span_ps(1e3 * got.latency_mean_ns));
    vec![tile(when, rate(got.throughput_bytes_per_s), about, Tone::Plain)]
}

fn limiting(limit: Option<&Limit>) -> &[String] {
    limit.map_or(&[], |limit| &limit.lanes)
}

fn limit_words(limit: Option<&Limit>) -> String {
    limit.map_or("nothing that could be named".to_string(), |limit| {
        format!("{} ({})", limit.what(), limit.tried(&gained(limit.gain)))
    })
}

fn signed_tick(value: f64) -> String {
    signed_percent(value / 100.0).replace(".0", "")
}

fn upgrade_section(upgrades: &Upgrades) -> Section {
    let words = "Every shipped upgrade that fits this machine, each simulated: what it buys, and what limits then.";
    let mut section = Section::new("upgrades-section", "Upgrades").words(words);
    if !upgrades.upgrades.is_empty() {
        section.blocks.push(Block::Figures(vec![upgrade_figure(upgrades)], 1));
    }
    if !upgrades.do_not_fit.is_empty() {
        let rows =
            upgrades.do_not_fit.iter().map(|(name, why)| vec![Cell::words(name.clone()), Cell::words(why.clone())]);
        let columns = [("upgrade", "upgrade"), ("why not", "why")];
        section.blocks.push(Block::Table(Table::new("unfit", "Upgrades that do not fit", &columns, rows.collect())));
    }
    section
}

fn upgrade_figure(upgrades: &Upgrades) -> Figure {
    let change = |upgrade: &Upgrade| Change {
        name: upgrade.title.clone(),
        about: match &upgrade.next_limit {
            Some(limit) => format!("then limited by {}", limit.what()),
            None => String::new(),
        },
        effects: vec![Effect {
            amount: 100.0 * upgrade.gain,
            half_width: 0.0,
            tip: format!(
                "{}, {}; then limited by {}",
                signed_percent(upgrade.gain),
                rate(upgrade.performance.throughput_bytes_per_s),
                limit_words(upgrade.next_limit.as_ref())
            ),
        }],
        figure: signed_percent(upgrade.gain),
    };
    let named: Vec<String> =
        upgrades.upgrades.iter().map(|u| format!("{} {}", u.title, signed_percent(u.gain))).collect();
    let drawing = bars::draw(&Changes {
        title: "What each upgrade buys".into(),
        description: format!("Change of the throughput: {}.", named.join("; ")),
        changes: upgrades.upgrades.iter().map(change).collect(),
        unit: "change of the throughput".into(),
        tick: signed_tick,
        more_is_better: true,
        meaning: ["faster".into(), "slower".into()],
    });
    let rows = upgrades.upgrades.iter().map(|upgrade| {
        let got = &upgrade.performance;
        let limit = upgrade.next_limit.as_ref();
        vec![
            Cell::words(upgrade.title.clone()).note(upgrade.name.clone()),
            Cell::figure(signed_percent(upgrade.gain), upgrade.gain),
            Cell::figure(rate(got.throughput_bytes_per_s), got.throughput_bytes_per_s),
            Cell::figure(signed_percent(upgrade.latency), upgrade.latency),
            Cell::figure(span_ps(1e3 * got.latency_mean_ns), got.latency_mean_ns),
            Cell::words(limit.map_or(String::new(), Limit::what))
                .note(limit.map_or(String::new(), |limit| limit.tried(&gained(limit.gain)))),
            Cell::words(upgrade.changes.join("; ")).note(also(&upgrade.also_on)),
            Cell::words(upgrade.basis.word()).note(upgrade.basis.text()),
        ]
    });
    let columns = [
        ("upgrade", "upgrade"),
        ("gain", "gain"),
        ("throughput", "throughput_bytes_per_s"),
        ("latency", "latency_effect"),
        ("mean latency", "latency_mean_ns"),
        ("then limits", "next_limit"),
        ("changes", "changes"),
        ("basis", "basis"),
    ];
    let data = upgrades.upgrades.iter().map(|u| serde_json::json!({ "name": u.name, "gain": u.gain })).collect();
    Figure {
        id: "upgrades".into(),
        drawing,
        caption: String::new(),
        kind: Kind::Marks,
        data,
        behind: Behind::Table(Table::new("upgrades-table", "Upgrades", &columns, rows.collect())),
        width_min: 760,
    }
}

fn also(devices: &[String]) -> String {
    if devices.is_empty() { String::new() } else { format!("the same job also on {}", devices.join(", ")) }
}

/// A shift with its interval, where it has one that shows.
fn shift_words(shift: Shift) -> String {
    let half_width = format!("{:.1}", 100.0 * shift.half_width);
    let mean = signed_percent(shift.mean);
    if half_width == "0.0" { mean } else { format!("{} ±{half_width} %", mean.trim_end_matches(" %")) }
}

fn sensitivity_section(sensitivities: &Sensitivities) -> Section {
    let Effort { ramp, runtime, seeds } = &sensitivities.effort;
    let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let [runtime, ramp] = [runtime, ramp].map(|time| time.as_seconds_f64());
    let words = format!(
        "Every number of the machine and the job, a little less and a little more: the same requests before and after, \
         {runtime:.3} s of them behind a ramp of {ramp:.3} s with seed {}, and more where they did not say enough; of numbers \
         that do little, the first few. A thin line is its 95 % interval. {} numbers were moved; {} change nothing at all.",
        list.join(", "),
        sensitivities.numbers.len(),
        sensitivities.numbers.iter().filter(|number| number.is_nothing()).count()
    );
    let mut section = Section::new("sensitivity-section", "What every number does").words(words);
    let throughput = tornado(
        sensitivities,
        ("sensitivity", "Throughput, by the number that is moved", "throughput"),
        Sensitivity::size,
        |effect| effect.throughput,
    );
    let latency = tornado(
        sensitivities,
        ("sensitivity-latency", "Mean latency, by the number that is moved", "mean latency"),
        Sensitivity::latency_size,
        |effect| effect.latency,
    );
    section.blocks.extend([throughput, latency].into_iter().flatten().map(|figure| Block::Figures(vec![figure], 1)));
    section.block(Block::Table(sensitivity_table(sensitivities)))
}

/// The numbers with the largest effects; nothing where none has any.
fn tornado(
    sensitivities: &Sensitivities,
    (id, title, what): (&str, &str, &str),
    size: fn(&Sensitivity) -> f64,
    of: fn(&hopscope_questions::whatif::Effect) -> Shift,
) -> Option<Figure> {
    let mut shown: Vec<&Sensitivity> = sensitivities.numbers.iter().filter(|n| size(n) >= SHOWN_MIN).collect();
    shown.sort_by(|a, b| size(b).total_cmp(&size(a)));
    shown.truncate(SHOWN_MAX);
    let first = shown.first()?;
    let change = |number: &&Sensitivity| {
        let to =
            |effect: &hopscope_questions::whatif::Effect| format!("{} {}", effect.changed_to, shift_words(of(effect)));
        let each: Vec<String> = number.effects.iter().map(to).collect();
        let largest = number.effects.iter().map(of).max_by(|a, b| a.mean.abs().total_cmp(&b.mean.abs()));
        Change {
            name: number.parameter.clone(),
            about: format!("{} ({}): {}", number.value, number.basis, each.join("; ")),
            effects: number
                .effects
                .iter()
                .map(|effect| Effect {
                    amount: 100.0 * of(effect).mean,
                    half_width: 100.0 * of(effect).half_width,
                    tip: format!("{} instead of {}: {}", effect.changed_to, number.value, shift_words(of(effect))),
                })
                .collect(),
            figure: largest.map_or(String::new(), |shift| signed_percent(shift.mean)),
        }
    };
    let better = what == "throughput";
    let drawing = bars::draw(&Changes {
        title: title.into(),
        description: format!(
            "{} numbers have an effect that is sure; the largest has {}.",
            shown.len(),
            first.parameter
        ),
        changes: shown.iter().map(change).collect(),
        unit: format!("change of the {what}"),
        tick: signed_tick,
        more_is_better: better,
        meaning: if better { ["faster".into(), "slower".into()] } else { ["shorter".into(), "longer".into()] },
    });
    let data = shown.iter().map(|number| {
        let effects: Vec<f64> = number.effects.iter().map(|effect| of(effect).mean).collect();
        serde_json::json!({ "parameter": number.parameter, "effects": effects })
    });
    Some(Figure {
        id: id.into(),
        drawing,
        caption: String::new(),
        kind: Kind::Marks,
        data: data.collect(),
        behind: Behind::Elsewhere("numbers-moved".into()),
        width_min: 760,
    })
}

/// A row for each change that does something; for programs, for every change.
fn sensitivity_table(sensitivities: &Sensitivities) -> Table {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for number in &sensitivities.numbers {
        for effect in &number.effects {
            let row = vec![
                Cell::words(number.parameter.clone()),
                Cell::figure(number.value.clone(), number.value.clone()),
                Cell::words(number.basis),
                Cell::figure(effect.changed_to.clone(), effect.changed_to.clone()),
                Cell::figure(shift_words(effect.throughput), effect.throughput.mean),
                Cell::figure(shift_words(effect.latency), effect.latency.mean),
            ];
            if number.size().max(number.latency_size()) >= SHOWN_MIN {
                rows.push(row.clone());
            }
            all.push(row);
        }
    }
    let columns = [
        ("number", "parameter"),
        ("is", "value"),
        ("basis", "basis"),
        ("changed to", "changed_to"),
        ("throughput", "throughput_effect"),
        ("mean latency", "latency_effect"),
    ];
    let csv = Table::new("numbers-moved", "", &columns, all).csv;
    let caption = format!("Every number with an effect of {} or more", percent(SHOWN_MIN));
    Table { csv, ..Table::new("numbers-moved", &caption, &columns, rows) }
}

fn ranges(numbers: &[&Sensitivity]) -> Table {
    let rows = numbers.iter().filter_map(|number| {
        let range = number.holds_until.as_ref()?;
        Some(vec![
            Cell::words(number.parameter.clone()),
            Cell::figure(number.value.clone(), number.value.clone()),
            Cell::figure(range.value.clone(), range.value.clone()),
            Cell::figure(signed_percent(range.throughput), range.throughput),
            Cell::words(range.beyond.words()),
        ])
    });
    let columns = [
        ("number", "parameter"),
        ("is", "value"),
        ("until", "until"),
        ("throughput there", "throughput_effect"),
        ("and then", "beyond"),
    ];
    Table::new("ranges-table", "How far the largest effects go", &columns, rows.collect())
}
