//! What a part's file may say of a key, as its `Spec` declares it, and the readers that hold a file to it.
//!
//! `#[derive(Spec)]` makes calls of these from a declaration; nothing else has to say what a number means, or what it may
//! be.

use hopscope_kernel::Time;

use crate::nearest::nearest;
use crate::parameters::{Parameters, Quantity, SpecError, Value};

/// What may be said of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// In which kind of quantity.
    pub quantity: Quantity,
    /// What it is, in words.
    pub meaning: &'static str,
    /// The least that it may be, in the unit of [`Value`].
    pub least: Option<u64>,
    /// The most.
    pub most: Option<u64>,
    /// What it is a multiple of.
    pub multiple_of: Option<u64>,
    /// Whether it is a power of two.
    pub power_of_two: bool,
    /// Whether it may be zero as well, which is nothing of it.
    pub or_zero: bool,
    /// Whether its limits follow from other numbers of the same file.
    pub depends: bool,
    /// What it may be, where that is some amounts alone.
    pub one_of: &'static [u64],
    /// What it may be, of a choice; anything else where there are none.
    pub words: &'static [&'static str],
}

impl Declared {
    /// A text of which nothing more is said.
    pub(super) fn text(meaning: &'static str, words: &'static [&'static str]) -> Declared {
        let quantity = Quantity::Text;
        Declared {
            quantity,
            meaning,
            least: None,
            most: None,
            multiple_of: None,
            power_of_two: false,
            or_zero: false,
            depends: false,
            one_of: &[],
            words,
        }
    }

    /// What it may be, in words: `4 KiB to 32 MiB, a multiple of 4 KiB`; nothing where it may be anything of its kind.
    pub fn limits(&self) -> String {
        let said = |amount: u64| written(self.quantity, amount);
        let (least, most) = match self.quantity {
            // The longest period is the least frequency.
            Quantity::Period => (self.most, self.least),
            _ => (self.least, self.most),
        };
        let mut limits = match (least.filter(|least| *least > 0), most) {
            (Some(least), Some(most)) if least == most => said(least),
            (Some(least), Some(most)) => format!("{} to {}", said(least), said(most)),
            (Some(least), None) => format!("{} at least", said(least)),
            (None, Some(most)) => format!("{} at most", said(most)),
            (None, None) => String::new(),
        };
        let more = [
            self.multiple_of.filter(|unit| *unit > 1).map(|unit| format!("a multiple of {}", said(unit))),
            self.power_of_two.then(|| "a power of two".to_string()),
            self.or_zero.then(|| format!("or {}", said(0))),
            (!self.one_of.is_empty()).then(|| self.amounts()),
            (!self.words.is_empty()).then(|| one_of(self.words)),
        ];
        for more in more.into_iter().flatten() {
            limits += if limits.is_empty() { "" } else { ", " };
            limits += &more;
        }
        limits
    }

    /// What it may be of some amounts alone: rates are those of serial lanes.
    fn amounts(&self) -> String {
        let said = |amount: &u64| match self.quantity {
            Quantity::Rate => format!("{} GT/s", (8 * amount) as f64 / 1e9),
            _ => written(self.quantity, *amount),
        };
        any_of(&self.one_of.iter().map(said).collect::<Vec<_>>())
    }

    /// What it is, and in brackets what it may be: `Lanes (1 to 16)`.
    pub fn said(&self) -> String {
        let (meaning, limits) = (self.meaning.trim_end_matches('.'), self.limits());
        if limits.is_empty() { meaning.to_string() } else { format!("{meaning} ({limits})") }
    }

    /// The meaning as the end of a sentence.
    fn about(&self) -> String {
        let meaning = self.meaning.trim_end_matches('.');
        let mut letters = meaning.chars();
        let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
        // What is in capitals from its second letter on is a name.
        let is_name = letters.clone().next().is_some_and(char::is_uppercase);
        if is_name { meaning.to_string() } else { first + letters.as_str() }
    }

    fn allows(&self, amount: u64) -> bool {
        self.or_zero && amount == 0 || self.is_within(amount)
    }

    fn is_within(&self, amount: u64) -> bool {
        self.least.is_none_or(|least| amount >= least)
            && self.most.is_none_or(|most| amount <= most)
            && self.multiple_of.is_none_or(|unit| amount.is_multiple_of(unit))
            && (!self.power_of_two || amount.is_power_of_two())
            && (self.one_of.is_empty() || self.one_of.contains(&amount))
    }

    fn refused(&self, p: &Parameters, key: &str) -> SpecError {
        let found = p.written(key).unwrap_or_default();
        p.error(key, format!("`{}` is {found}", p.path(key)), format!("expected {}: {}", self.limits(), self.about()))
    }
}

/// A number within its limits, as what its field is.
pub fn number<T: Number>(p: &mut Parameters, key: &str, declared: &Declared) -> Result<T, SpecError> {
    let amount = p.declared(key, declared, |value| value.amount())?;
    T::of(amount).filter(|_| declared.allows(amount)).ok_or_else(|| declared.refused(p, key))
}

/// What a number of a file can be within a part.
pub trait Number: Sized {
    /// The same; nothing where there is no room for it.
    fn of(amount: u64) -> Option<Self>;
}

impl Number for Time {
    fn of(amount: u64) -> Option<Time> {
        Some(Time::ps(amount))
    }
}

macro_rules! numbers {
    ($($kind:ty),*) => {
        $(impl Number for $kind {
            fn of(amount: u64) -> Option<$kind> {
                amount.try_into().ok()
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, usize);

/// A text.
pub fn text(p: &mut Parameters, key: &str, declared: &Declared) -> Result<String, SpecError> {
    p.declared(key, declared, |value| match value {
        Value::Text(text) => Some(text),
        _ => None,
    })
}

/// What is written in a text; where it is nothing, `parse` says what is expected.
pub fn parsed<T>(
    p: &mut Parameters,
    key: &str,
    declared: &Declared,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, SpecError> {
    let found = text(p, key, declared)?;
    parse(&found).map_err(|expected| {
        p.error(key, format!("`{}` is `{found}`", p.path(key)), format!("expected {expected}: {}", declared.about()))
    })
}

/// Which of these words it is.
pub fn word(
    p: &mut Parameters,
    key: &str,
    meaning: &'static str,
    words: &'static [&'static str],
) -> Result<usize, SpecError> {
    let declared = Declared::text(meaning, words);
    let found = text(p, key, &declared)?;
    words.iter().position(|word| *word == found).ok_or_else(|| {
        let meant = nearest(&found, words).map_or(String::new(), |word| format!("did you mean \"{word}\"? "));
        let help = format!("{meant}expected {}: {}", one_of(words), declared.about());
        p.error(key, format!("`{}` is `{found}`", p.path(key)), help)
    })
}

/// The rows of a table.
pub fn rows<T>(
    p: &mut Parameters,
    key: &str,
    declared: &Declared,
    read: impl Fn(&mut Parameters) -> Result<T, SpecError>,
) -> Result<Vec<T>, SpecError> {
    let rows = p.declared(key, declared, |value| match value {
        Value::Rows(rows) => Some(rows),
        _ => None,
    })?;
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

fn one_of(words: &[&str]) -> String {
    any_of(&words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>())
}

fn any_of(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

/// An amount in the largest unit that says it whole.
fn written(quantity: Quantity, amount: u64) -> String {
    const TIMES: &[(u64, &str)] =
        &[(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
    const BYTES: &[(u64, &str)] =
        &[(1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
    const RATES: &[(u64, &str)] = &[(1_000_000_000, "GB/s"), (1_000_000, "MB/s"), (1_000, "kB/s"), (1, "B/s")];
    let units = match quantity {
        Quantity::Time => TIMES,
        Quantity::Period if amount >= 1_000_000 => return format!("{} rpm", 60_000_000_000_000 / amount),
        Quantity::Period => return format!("{} MHz", 1_000_000 / amount.max(1)),
        Quantity::Bytes => BYTES,
        Quantity::Rate => RATES,
        Quantity::Clocks if amount == 1 => return "1 clock".to_string(),
        Quantity::Clocks => return format!("{amount} clocks"),
        Quantity::Share => return format!("{} %", amount as f64 / 10_000.0),
        Quantity::Count | Quantity::Text | Quantity::Rows => return amount.to_string(),
    };
    let (size, unit) =
        units.iter().find(|(size, _)| amount.is_multiple_of(*size) && amount > 0).unwrap_or(&units[units.len() - 1]);
    format!("{} {unit}", amount / size)
}

#[cfg(test)]
mod tests {
    use hopscope_declare::Spec;
    use hopscope_kernel::Time;

    use crate::parameters::{Parameters, SpecError, Value};

    /// A device.
    #[derive(Debug, PartialEq, Spec)]
    #[spec(with(least: u32), holds = |device: &Device, p: &Parameters| device.fits(p, least))]
    struct Device {
        /// Most bytes of a command.
        #[bytes("transfer", 4_096..=1 << 20, multiple_of = 512)]
        transfer: u32,
        /// A part of it.
        #[bytes("piece", ..=transfer.into(), power_of_two)]
        piece: u32,
        /// NCQ tags.
        #[count(["read.tags", "write.tags"], 1..=32)]
        tags: [u8; 2],
        /// What a lane carries.
        #[rate("rate", one_of = &[187_500_000, 375_000_000])]
        rate: u64,
        /// How it tells of completions.
        #[choice("notice")]
        notice: Notice,
        #[nested("ring")]
        ring: Ring,
        /// Modes, from 0.
        #[rows("modes")]
        modes: Vec<Mode>,
        /// Its address.
        #[text("address", parse = address)]
        address: u32,
        #[given(transfer / piece)]
        pieces: u32,
    }

    fn address(written: &str) -> Result<u32, String> {
        let digits = written.strip_prefix("0x").ok_or("\"0x10\"")?;
        u32::from_str_radix(digits, 16).map_err(|_| "digits".to_string())
    }

    impl Device {
        fn fits(&self, p: &Parameters, least: u32) -> Result<(), SpecError> {
            if self.pieces < least { Err(p.error("piece", "too few", "expected more")) } else { Ok(()) }
        }
    }

    #[derive(Debug, PartialEq, Spec)]
    enum Notice {
        Interrupt,
        #[word("looked for")]
        Poll {
            /// From one look to the next.
            #[time("poll.interval", Time::ps(1)..=Time::ms(1))]
            interval: Time,
        },
    }

    #[derive(Debug, PartialEq, Spec)]
    struct Ring {
        /// Entries.
        #[count("entries", 2..)]
        entries: usize,
    }

    #[derive(Debug, PartialEq, Spec)]
    struct Mode {
        /// A word.
        #[clocks("word", 1..=8)]
        word: u64,
    }

    fn device(changed: &[(&str, Value)]) -> Result<Device, SpecError> {
        let rows = [4, 2].map(|word| Parameters::of([("word", Value::Clocks(word))])).to_vec();
        let mut values = vec![
            ("transfer", Value::Bytes(8_192)),
            ("piece", Value::Bytes(1_024)),
            ("read.tags", Value::Count(32)),
            ("write.tags", Value::Count(1)),
            ("rate", Value::Rate(187_500_000)),
            ("notice", Value::Text("looked for".into())),
            ("poll.interval", Value::Time(Time::us(1))),
            ("ring.entries", Value::Count(2)),
            ("address", Value::Text("0x1F0".into())),
            ("modes", Value::Rows(rows)),
        ];
        for (key, value) in changed {
            values.retain(|(known, _)| known != key);
            values.push((key, value.clone()));
        }
        let mut p = Parameters::of(values);
        let device = Device::read(&mut p, 8)?;
        let unknown: Vec<String> = p.unknown().into_iter().map(|unknown| unknown.path).collect();
        assert_eq!(unknown.is_empty(), device.notice != Notice::Interrupt, "{unknown:?}");
        Ok(device)
    }

    #[test]
    fn a_declaration_reads_what_it_says() {
        let expected = Device {
            transfer: 8_192,
            piece: 1_024,
            tags: [32, 1],
            rate: 187_500_000,
            notice: Notice::Poll { interval: Time::us(1) },
            ring: Ring { entries: 2 },
            modes: vec![Mode { word: 4 }, Mode { word: 2 }],
            address: 0x1F0,
            pieces: 8,
        };
        assert_eq!(device(&[]), Ok(expected));
        // A word that asks for nothing leaves what another would have asked for, which is an unknown key then.
        assert_eq!(device(&[("notice", Value::Text("interrupt".into()))]).unwrap().notice, Notice::Interrupt);
    }

    #[test]
    fn limits_that_follow_from_other_numbers_are_told_apart() {
        let mut p = Parameters::of([("transfer", Value::Bytes(8_192)), ("piece", Value::Bytes(1_024))]);
        let asked = p.listen();
        Device::read(&mut p, 8).expect_err("nothing else is there");
        let declared: Vec<_> = asked.list().into_iter().map(|note| (note.path, note.declared)).collect();
        let limits: Vec<_> = declared.iter().map(|(path, of)| (&path[..], of.depends, of.limits())).collect();
        let transfer = ("transfer", false, "4 KiB to 1 MiB, a multiple of 512 B".to_string());
        let piece = ("piece", true, "8 KiB at most, a power of two".to_string());
        assert_eq!(limits, [transfer, piece, ("read.tags", false, "1 to 32".to_string())]);
    }

    #[test]
    fn what_is_out_of_its_limits_is_refused_with_what_it_means() {
        let refused = |key: &str, value: Value| {
            let error = device(&[(key, value)]).unwrap_err();
            (error.key, error.problem, error.help)
        };
        let words = |key: &str, problem: &str, help: &str| (key.to_string(), problem.to_string(), help.to_string());
        let transfer = "expected 4 KiB to 1 MiB, a multiple of 512 B: most bytes of a command";
        for bytes in [4_095, 4_608 + 1, (1 << 20) + 512, (1 << 32) + 4_096] {
            let problem = format!("`transfer` is Bytes({bytes})");
            assert_eq!(refused("transfer", Value::Bytes(bytes)), words("transfer", &problem, transfer));
        }
        let piece = "expected 8 KiB at most, a power of two: a part of it";
        for bytes in [0, 1_000, 16_384] {
            assert_eq!(refused("piece", Value::Bytes(bytes)).2, piece);
        }
        assert_eq!(refused("write.tags", Value::Count(33)).2, "expected 1 to 32: NCQ tags");
        assert_eq!(refused("rate", Value::Rate(500)).2, "expected 1.5 GT/s or 3 GT/s: what a lane carries");
        let notice = "expected \"interrupt\" or \"looked for\": how it tells of completions";
        assert_eq!(refused("notice", Value::Text("poll".into())), words("notice", "`notice` is `poll`", notice));
        assert_eq!(
            refused("poll.interval", Value::Time(Time::ZERO)).2,
            "expected 1 ps to 1 ms: from one look to the next"
        );
        let ring = ("ring.entries".to_string(), "`ring.entries` is Count(1)".to_string());
        assert_eq!(
            refused("ring.entries", Value::Count(1)),
            (ring.0, ring.1, "expected 2 at least: entries".to_string())
        );
        let address = ("`address` is `1F0`", "expected \"0x10\": its address");
        assert_eq!(refused("address", Value::Text("1F0".into())), words("address", address.0, address.1));
        assert_eq!(refused("rate", Value::Count(1)).1, "`rate` is a count");
        let rows = vec![Parameters::of([("word", Value::Clocks(9))])];
        assert_eq!(refused("modes", Value::Rows(rows)).2, "expected 1 clock to 8 clocks: a word");
        assert_eq!(refused("piece", Value::Bytes(2_048)).1, "too few");
    }
}
