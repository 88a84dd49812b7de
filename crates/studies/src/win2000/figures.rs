//! What the report shows in pictures.

use hopscope_machine::run::Failure;

use crate::Wish;
use crate::pictures::Pictures;

/// The report's page has its tables.
pub fn pictures(_: &Wish) -> Result<Pictures, Failure> {
    Ok(Pictures::default())
}
