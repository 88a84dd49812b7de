//! What files of a kind of part may say, as its `Spec` declares it, whatever one file says: `#[derive(Spec)]` makes calls
//! of these.

use super::declared::Declared;
use super::{Parameters, Spec, SpecError};

/// Says what is declared. `Spec`s that need something to be read do so too.
pub trait Declares {
    /// Says it, in the order in which it is read.
    fn declare(d: &mut Declarations);
}

impl Declares for () {
    fn declare(_: &mut Declarations) {}
}

impl<A: Declares, B: Declares> Declares for (A, B) {
    fn declare(d: &mut Declarations) {
        A::declare(d);
        B::declare(d);
    }
}

/// A key that is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// `key`, or `table[].column`.
    pub path: String,
    /// What is declared of it; limits that follow from other numbers are left out.
    pub declared: Declared,
    /// Whether every file, or every row of the table, has it.
    pub always: bool,
}

/// What has been declared, each key once, in the order in which it is read.
#[derive(Debug, Default)]
pub struct Declarations {
    list: Vec<Declaration>,
    /// Before every key: the table, or its rows.
    table: String,
}

impl Declarations {
    /// What is declared, in order.
    pub fn of<S: Declares>() -> Vec<Declaration> {
        let mut all = Declarations::default();
        S::declare(&mut all);
        all.list
    }

    /// A key.
    pub fn key(&mut self, key: &str, declared: Declared) {
        self.add(Declaration { path: format!("{}{key}", self.table), declared, always: true });
    }

    /// A table of rows with these columns.
    pub fn rows(&mut self, key: &str, declared: Declared, columns: fn(&mut Declarations)) {
        self.key(key, declared);
        self.in_table(format!("{}{key}[].", self.table), columns);
    }

    /// The keys of one table.
    pub fn within(&mut self, table: &str, keys: impl FnOnce(&mut Declarations)) {
        self.in_table(format!("{}{table}.", self.table), keys);
    }

    /// One of these words, each of which asks for keys of its own.
    pub fn choice(
        &mut self,
        key: &str,
        meaning: &'static str,
        words: &'static [&'static str],
        each: &[fn(&mut Declarations)],
    ) {
        self.key(key, Declared::text(meaning, words));
        let each: Vec<Vec<Declaration>> = each.iter().map(|keys| self.apart(keys)).collect();
        let in_all = |of: &Declaration| each.iter().all(|keys| keys.iter().any(|k| k.path == of.path && k.always));
        for of in each.iter().flatten() {
            let always = of.always && (self.is_column(&of.path) || in_all(of));
            self.add(Declaration { always, ..of.clone() });
        }
    }

    /// What not every file is asked for.
    pub fn perhaps(&mut self, keys: impl FnOnce(&mut Declarations)) {
        for of in self.apart(keys) {
            let always = of.always && self.is_column(&of.path);
            self.add(Declaration { always, ..of });
        }
    }

    /// What a function declares.
    pub fn and(&mut self, keys: impl FnOnce(&mut Declarations)) {
        keys(self);
    }

    fn add(&mut self, declaration: Declaration) {
        match self.list.iter_mut().find(|known| known.path == declaration.path) {
            Some(known) => known.always |= declaration.always,
            None => self.list.push(declaration),
        }
    }

    fn in_table(&mut self, table: String, keys: impl FnOnce(&mut Declarations)) {
        let around = std::mem::replace(&mut self.table, table);
        keys(self);
        self.table = around;
    }

    fn apart(&self, keys: impl FnOnce(&mut Declarations)) -> Vec<Declaration> {
        let mut apart = Declarations { list: Vec::new(), table: self.table.clone() };
        keys(&mut apart);
        apart.list
    }

    /// Whether a path is in the rows of a table that is declared here.
    fn is_column(&self, path: &str) -> bool {
        path.strip_prefix(&self.table).is_some_and(|rest| rest.contains("[]."))
    }
}

/// Numbers whose limits follow from what the part is plugged into. Whoever builds it reads them, and until then they are
/// only what they are.
pub struct Unlimited<S>(std::marker::PhantomData<fn() -> S>);

impl<S> Clone for Unlimited<S> {
    fn clone(&self) -> Self {
        Unlimited(std::marker::PhantomData)
    }
}

impl<S: Declares> Declares for Unlimited<S> {
    fn declare(d: &mut Declarations) {
        S::declare(d);
    }
}

impl<S: Declares> Spec for Unlimited<S> {
    fn read(p: &mut Parameters) -> Result<Unlimited<S>, SpecError> {
        for of in Declarations::of::<S>() {
            p.declared(&of.path, &of.declared, Some)?;
        }
        Ok(Unlimited(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use hopscope_declare::Spec;

    use super::Declarations;

    /// A device.
    #[derive(Spec)]
    #[allow(dead_code)]
    struct Device {
        /// Most bytes of a command.
        #[bytes("transfer", 4_096..=1 << 20)]
        transfer: u32,
        /// A part of it.
        #[bytes("piece", 512..=transfer.into())]
        piece: u32,
        /// How it tells of completions.
        #[choice("notice")]
        notice: Notice,
        /// Modes, from 0.
        #[rows("modes")]
        modes: Vec<Mode>,
        #[by(if piece > 512 { Mode::read(p) } else { Ok(Mode { word: 0 }) }, declares = |d| d.perhaps(Mode::declare))]
        whole: Mode,
    }

    #[derive(Spec)]
    #[allow(dead_code)]
    enum Notice {
        Interrupt {
            /// Until it is noticed.
            #[time("latency")]
            latency: u64,
        },
        Poll {
            /// Until it is noticed.
            #[time("latency")]
            latency: u64,
            /// Looks that are noted.
            #[rows("looks")]
            looks: Vec<Mode>,
        },
    }

    #[derive(Spec)]
    #[allow(dead_code)]
    struct Mode {
        /// A word.
        #[clocks("word", 1..=8)]
        word: u64,
    }

    #[test]
    fn what_a_choice_or_a_number_asks_for_is_not_in_every_file_and_what_all_words_ask_for_is() {
        let declared = Declarations::of::<Device>();
        let said: Vec<_> = declared.iter().map(|of| (&of.path[..], of.always, of.declared.limits())).collect();
        let expected = [
            ("transfer", true, "4 KiB to 1 MiB"),
            ("piece", true, "512 B at least"),
            ("notice", true, "\"interrupt\" or \"poll\""),
            ("latency", true, ""),
            ("looks", false, ""),
            // Each row of a table has it, even where the table is not in every file.
            ("looks[].word", true, "1 clock to 8 clocks"),
            ("modes", true, ""),
            ("modes[].word", true, "1 clock to 8 clocks"),
            ("word", false, "1 clock to 8 clocks"),
        ];
        assert_eq!(said, expected.map(|(path, always, limits)| (path, always, limits.to_string())));
        let depends = declared.iter().filter(|of| of.declared.depends).map(|of| &of.path[..]);
        assert_eq!(depends.collect::<Vec<_>>(), ["piece"]);
    }
}
