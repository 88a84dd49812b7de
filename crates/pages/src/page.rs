//! A page: chapters of sections of figures, tables and words; written as one HTML file, SVG files and CSV files.

use hopscope_files::harmless::harmless;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment};
use serde_json::{Value, json};

use crate::drawing::{Drawing, Key, PATTERNS, escape};
use crate::palette;
use crate::table::{Csv, Table, Tone};

const TEMPLATE: &str = include_str!("../templates/page.html");
const STYLE: &str = include_str!("../templates/page.css");
const SCRIPT: &str = include_str!("../templates/page.js");

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// How it can be made again.
    pub command: String,
    /// One, or one a study.
    pub chapters: Vec<Chapter>,
}

/// What one study or one run has to say.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// Its name; those of its figures and tables begin with it.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Where it comes from.
    pub source: String,
    /// The answer.
    pub answer: Vec<String>,
    /// The answer in figures.
    pub tiles: Vec<Tile>,
    /// The rest.
    pub sections: Vec<Section>,
    /// Everything for programs.
    pub data: Value,
    /// Tables for programs that no table for readers says.
    pub csvs: Vec<Csv>,
}

/// A figure that is read first.
#[derive(Clone, Debug)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// The figure.
    pub figure: String,
    /// Of what.
    pub about: String,
    /// How it looks.
    pub tone: Tone,
}

/// A part of a chapter.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// In this order.
    pub blocks: Vec<Block>,
}

impl Section {
    /// An empty one.
    pub fn new(id: &str, title: &str) -> Section {
        Section { id: id.to_string(), title: title.to_string(), blocks: Vec::new() }
    }

    /// With words.
    pub fn words(mut self, words: impl Into<String>) -> Section {
        self.blocks.push(Block::Words(words.into()));
        self
    }

    /// With something more.
    pub fn block(mut self, block: Block) -> Section {
        self.blocks.push(block);
        self
    }
}

/// What a section is made of.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Words(String),
    /// Figures that are one of many of their kind, folded under their title.
    Folded {
        /// What they are of.
        title: String,
        /// Side by side.
        figures: Vec<Figure>,
        /// Whether they are shown at first.
        open: bool,
    },
    /// Figures with a common legend, so many side by side where there is room.
    Figures(Vec<Figure>, usize),
    /// A figure, and beside it what it leads to, one at a time, the first at first: a figure or several each.
    Chosen(Box<Figure>, Vec<Vec<Figure>>),
    /// A table.
    Table(Table),
}

impl Block {
    /// The figures in it, in order.
    fn figures(&self) -> Vec<&Figure> {
        match self {
            Block::Figures(figures, _) | Block::Folded { figures, .. } => figures.iter().collect(),
            Block::Chosen(first, others) => std::iter::once(&**first).chain(others.iter().flatten()).collect(),
            Block::Words(_) | Block::Table(_) => Vec::new(),
        }
    }
}

/// What a figure lets the reader do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Read its marks one by one.
    Marks,
    /// Zoom along time, too.
    Timeline,
    /// The same where there is too much for all of it to be a mark.
    Levels,
}

/// Where the figures of a figure are.
#[derive(Clone, Debug)]
pub enum Behind {
    /// In a table under it, folded.
    Table(Table),
    /// In a table elsewhere in the chapter.
    Elsewhere(String),
}

/// A drawing with what belongs to it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name, unique in the chapter; its file is called so.
    pub id: String,
    /// The drawing.
    pub drawing: Drawing,
    /// What the reader is told, besides its title.
    pub caption: String,
    /// What it lets the reader do.
    pub kind: Kind,
    /// Its figures, for programs.
    pub data: Value,
    /// Its figures, for readers.
    pub behind: Behind,
    /// Below this width it is scrolled, not shrunk.
    pub width_min: u32,
}

impl Figure {
    /// The same as one of several of its kind: with a word in its names and in its titles.
    pub fn named(mut self, id: &str, words: &str) -> Figure {
        self.id = format!("{id}-{}", self.id);
        self.drawing.title = format!("{words}: {}", self.drawing.title);
        if let Behind::Table(table) = &mut self.behind {
            table.id = format!("{id}-{}", table.id);
            table.caption = format!("{words}: {}", table.caption);
            if let Some(csv) = &mut table.csv {
                csv.name = format!("{id}-{}", csv.name);
            }
        }
        self
    }
}

impl Page {
    /// One file without any other.
    pub fn html(&self) -> String {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.expect("the usual delimiters"));
        environment.add_filter("coded", coded);
        environment.add_filter("breaking", breaking);
        let style = format!("{}{STYLE}", palette::variables());
        let view = json!({
            "title": self.title,
            "command": self.command,
            "version": env!("CARGO_PKG_VERSION"),
            "chapters": self.chapters.iter().map(chapter).collect::<Vec<_>>(),
            "style": style,
            "figure_style": palette::figure_style(),
            "script": SCRIPT,
            "patterns": PATTERNS,
        });
        let template = environment.template_from_str(TEMPLATE).expect("the template ships with the program");
        harmless(&template.render(Serde(&view)).expect("the template asks for what is there"))
    }

    /// Every figure alone: name and SVG.
    pub fn svgs(&self) -> Vec<(String, String)> {
        let named = |chapter: &Chapter, figure: &Figure| format!("{}-{}", chapter.id, figure.id);
        let of = |chapter: &Chapter| {
            chapter.figures().map(|figure| (named(chapter, figure), figure.drawing.standalone())).collect::<Vec<_>>()
        };
        self.chapters.iter().flat_map(of).collect()
    }

    /// Every table: name and CSV.
    pub fn csvs(&self) -> Vec<(String, String)> {
        let of = |chapter: &Chapter| {
            let shown = chapter.tables().into_iter().filter_map(|table| table.csv.clone());
            let all = shown.chain(chapter.csvs.iter().cloned());
            all.map(|csv| (format!("{}-{}", chapter.id, csv.name), csv.text())).collect::<Vec<_>>()
        };
        self.chapters.iter().flat_map(of).collect()
    }
}

impl Chapter {
    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.blocks).flat_map(Block::figures)
    }

    fn tables(&self) -> Vec<&Table> {
        let mut tables = Vec::new();
        for block in self.sections.iter().flat_map(|section| &section.blocks) {
            if let Block::Table(table) = block {
                tables.push(table);
            }
            tables.extend(block.figures().into_iter().filter_map(|figure| match &figure.behind {
                Behind::Table(table) => Some(table),
                Behind::Elsewhere(_) => None,
            }));
        }
        tables
    }
}

fn chapter(chapter: &Chapter) -> Value {
    let within = |id: &str| format!("{}-{id}", chapter.id);
    let tile =
        |tile: &Tile| json!({ "name": tile.name, "figure": tile.figure, "about": tile.about, "tone": tile.tone });
    let section = |section: &Section| {
        let blocks: Vec<Value> = section.blocks.iter().map(|b| block(b, &within)).collect();
        json!({ "id": within(&section.id), "title": section.title, "blocks": blocks })
    };
    json!({
        "id": chapter.id,
        "title": chapter.title,
        "source": chapter.source,
        "answer": chapter.answer,
        "tiles": chapter.tiles.iter().map(tile).collect::<Vec<_>>(),
        "sections": chapter.sections.iter().map(section).collect::<Vec<_>>(),
        "data": script_text(&chapter.data),
    })
}

fn block(block: &Block, within: &dyn Fn(&str) -> String) -> Value {
    match block {
        Block::Words(words) => json!({ "kind": "words", "words": words }),
        Block::Folded { title, figures, open } => {
            let all: Vec<Value> = figures.iter().map(|f| figure(f, within)).collect();
            json!({ "kind": "folded", "title": title, "figures": all, "open": open, "legend": legend(figures) })
        }
        Block::Table(table) => json!({ "kind": "table", "table": shown(table, within) }),
        Block::Figures(figures, columns) => {
            let all: Vec<Value> = figures.iter().map(|f| figure(f, within)).collect();
            json!({ "kind": "figures", "figures": all, "columns": columns, "legend": legend(figures) })
        }
        Block::Chosen(first, others) => {
            let together = |of: &Vec<Figure>| of.iter().map(|f| figure(f, within)).collect::<Vec<_>>();
            let among: Vec<_> = others.iter().map(together).collect();
            let legend = legend(block.figures());
            json!({ "kind": "chosen", "figures": [figure(first, within)], "among": among, "columns": 2, "legend": legend })
        }
    }
}

/// The signs of all figures, each once.
fn legend<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<Value> {
    let mut keys: Vec<&Key> = Vec::new();
    for key in figures.into_iter().flat_map(|figure| &figure.drawing.legend) {
        if !keys.iter().any(|known| known.words == key.words) {
            keys.push(key);
        }
    }
    keys.iter().map(|key| json!({ "swatch": key.swatch, "words": key.words })).collect()
}

fn shown(table: &Table, within: &dyn Fn(&str) -> String) -> Value {
    let mut shown = json!(table);
    shown["id"] = within(&table.id).into();
    shown
}

fn figure(figure: &Figure, within: &dyn Fn(&str) -> String) -> Value {
    let id = within(&figure.id);
    let (table, elsewhere) = match &figure.behind {
        Behind::Table(table) => (Some(shown(table, within)), None),
        Behind::Elsewhere(id) => (None, Some(within(id))),
    };
    json!({
        "id": id,
        "title": figure.drawing.title,
        "svg": figure.drawing.inline(&id),
        "caption": figure.caption,
        "classes": match figure.kind { Kind::Marks => "marks", Kind::Timeline => "timeline", Kind::Levels => "timeline levels" },
        "data": script_text(&figure.data),
        "table": table,
        "elsewhere": elsewhere,
        "width_min": figure.width_min,
    })
}

/// Words between backquotes as code.
fn coded(words: &str) -> minijinja::Value {
    let pieces = words.split('`').enumerate().map(|(index, piece)| match index % 2 {
        0 => escape(piece),
        _ => format!("<code>{}</code>", escape(piece)),
    });
    minijinja::Value::from_safe_string(pieces.collect())
}

/// A name that may go on in another line after each of its parts.
fn breaking(words: &str) -> minijinja::Value {
    minijinja::Value::from_safe_string(escape(words).replace('.', ".<wbr>"))
}

/// JSON that cannot end the element it stands in, whatever it says.
fn script_text(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
