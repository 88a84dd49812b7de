//! The charts of a study's page.

use hopscope_files::problem::{Problem, Problems, place};
use toml::Spanned;

use super::beside::table_named;
use super::declared;
use super::rows::Table;
use crate::pictures::{Accuracy, Axis, Chart, Panel};

/// The values of a column, each once, in the order of the rows.
fn values(table: &Table, column: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for word in table.rows.iter().filter_map(|row| row.words.get(column)) {
        if !values.contains(word) {
            values.push(word.clone());
        }
    }
    values
}

fn letter(number: usize) -> String {
    char::from_u32(u32::from(b'a') + number as u32).map_or(String::new(), |letter| format!("({letter})"))
}

/// The chart that is declared so.
pub(super) fn read(
    declared: &declared::Chart,
    file: u32,
    tables: &[Table],
    accuracy: Option<Accuracy>,
) -> Result<Chart, Problems> {
    let number = table_named(tables, declared.table.get_ref(), place(file, declared.table.span()))?;
    let table = &tables[number];
    let key = |column: &Spanned<String>| match table.declared.key.contains(column.get_ref()) {
        true => Ok(column.get_ref().clone()),
        false => {
            let title = format!("`{column}` is no key of table `{}`", table.declared.id);
            Err(Problem::at(place(file, column.span()), title)
                .help(format!("its keys: {}", table.declared.key.join(", "))))
        }
    };
    let (along, curves_by) = (key(&declared.along)?, key(&declared.curves)?);
    if let Some(row) = table.rows.iter().find(|row| row.number(&along).is_none_or(|number| number <= 0.0)) {
        let title = format!("a chart lies along `{along}`, and here that is no number above zero");
        return Err(Problem::at(row.place, title).into());
    }
    let panels = match &declared.panels {
        None => vec![Panel { mark: String::new(), title: declared.title.clone(), keys: Vec::new() }],
        Some(column) => {
            let column = key(column)?;
            let panel = |(number, value): (usize, String)| Panel {
                mark: letter(number),
                title: value.clone(),
                keys: vec![(column.clone(), value)],
            };
            values(table, &column).into_iter().enumerate().map(panel).collect()
        }
    };
    Ok(Chart {
        id: declared.id.clone(),
        title: declared.title.clone(),
        about: declared.about.clone(),
        table: table.declared.id.clone(),
        along: Axis { key: along, title: declared.along_title.clone(), unit: declared.along_unit.clone() },
        shows: declared.shows.clone(),
        curves: values(table, &curves_by).into_iter().map(|value| (value.clone(), value)).collect(),
        curves_by,
        panels,
        accuracy,
        limit: false,
    })
}
