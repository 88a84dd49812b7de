//! Formulas of `study.toml`: numbers, names, `+ - * /`, parentheses, and `min` and `max` between two values. No
//! conditions, no loops.

use exmex::prelude::*;
use exmex::{BinOp, MakeOperators, MatchLiteral, Operator, literal_matcher_from_pattern, ops_factory};
use hopscope_files::problem::{Problem, place};
use hopscope_parts::nearest::did_you_mean;
use toml::Spanned;

/// Formulas are a line, not a program.
const MOST_CHARACTERS: usize = 500;

// `min` and `max` bind least: `2 * one min best` is the smaller of two values.
ops_factory!(
    Arithmetic,
    f64,
    Operator::make_bin("min", BinOp { apply: f64::min, prio: 0, is_commutative: true }),
    Operator::make_bin("max", BinOp { apply: f64::max, prio: 0, is_commutative: true }),
    Operator::make_bin("+", BinOp { apply: |a, b| a + b, prio: 1, is_commutative: true }),
    Operator::make_bin_unary("-", BinOp { apply: |a, b| a - b, prio: 1, is_commutative: false }, |a| -a),
    Operator::make_bin("*", BinOp { apply: |a, b| a * b, prio: 2, is_commutative: true }),
    Operator::make_bin("/", BinOp { apply: |a, b| a / b, prio: 3, is_commutative: false })
);

literal_matcher_from_pattern!(Literal, r"^[0-9]+(\.[0-9]+)?(e-?[0-9]+)?");

/// A formula that was read.
#[derive(Clone, Debug)]
pub(super) struct Formula(FlatEx<f64, Arithmetic, Literal>);

impl Formula {
    /// Reads one in the text `file`, which may use the names of `known`.
    pub(super) fn read(text: &Spanned<String>, file: u32, known: &[String]) -> Result<Formula, Problem> {
        let formula = Formula::parse(text, file)?;
        match formula.names().iter().find(|name| !known.contains(name)) {
            None => Ok(formula),
            Some(name) => {
                let help = format!("{} (known here: {})", did_you_mean(name, known), known.join(", "));
                let problem = Problem::at(place(file, text.span()), format!("nothing is called `{name}` here"));
                Err(problem.help(help.trim()))
            }
        }
    }

    /// Reads one that may use any names.
    pub(super) fn parse(text: &Spanned<String>, file: u32) -> Result<Formula, Problem> {
        let wrong = |title: String| Problem::at(place(file, text.span()), title);
        let written = text.get_ref();
        if written.chars().count() > MOST_CHARACTERS {
            return Err(wrong(format!("a formula has {MOST_CHARACTERS} characters at most")));
        }
        if written.contains(',') {
            let help = "`min` and `max` stand between two values: `2 * one min best`";
            return Err(wrong("a formula has no commas".into()).help(help));
        }
        let formula = FlatEx::parse(written).map_err(|error| {
            let help = "numbers, names, + - * /, parentheses, and `min` or `max` between two values";
            wrong("this is no formula".into()).label(error.to_string()).help(help)
        })?;
        Ok(Formula(formula))
    }

    /// The names that it uses.
    pub(super) fn names(&self) -> &[String] {
        self.0.var_names()
    }

    /// Its value, with what each name stands for; not finite where it cannot be told.
    pub(super) fn value(&self, of: impl Fn(&str) -> f64) -> f64 {
        let values: Vec<f64> = self.names().iter().map(|name| of(name)).collect();
        self.0.eval(&values).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Formula, Problem> {
        let known = ["one", "best"].map(String::from);
        Formula::read(&Spanned::new(0..text.len(), text.to_string()), 0, &known)
    }

    #[test]
    fn formulas_are_arithmetic() {
        let one = |name: &str| if name == "one" { 3.0 } else { 5.0 };
        for (text, expected) in [
            ("2 * one min best", 5.0),
            ("2 * (one min best)", 6.0),
            ("1 max (one min 2)", 2.0),
            ("one + 1 max best - 4", 4.0),
            ("8 / 2 * 4", 16.0),
            ("2 * 8 / 4 * 2", 8.0),
            ("1 / 2 / 4", 0.125),
            ("1 - 2 - 3", -4.0),
            ("-one * 2", -6.0),
            ("best * 8 / 1e9", 4e-8),
            ("100 * (best / one - 1)", 100.0 * (5.0 / 3.0 - 1.0)),
            ("2.5e-1", 0.25),
        ] {
            let found = read(text).map(|formula| formula.value(one));
            assert!(found.as_ref().is_ok_and(|found| (found - expected).abs() < 1e-12), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_formula_is_said() {
        for (text, said) in [
            ("", "no formula"),
            ("one +", "no formula"),
            ("one one", "no formula"),
            ("((((1", "no formula"),
            ("one > 2", "no formula"),
            ("1..2", "no formula"),
            ("é", "no formula"),
            ("sin(one)", "no formula"),
            ("min(one, best)", "no commas"),
            ("twoo * one", "nothing is called `twoo`"),
        ] {
            let found = read(text);
            assert!(found.as_ref().is_err_and(|problem| problem.title.contains(said)), "{text}: {found:?}");
        }
        assert!(read(&"1+".repeat(400)).is_err());
        assert!(read("bets").is_err_and(|problem| problem.help.contains("`best`")));
    }
}
