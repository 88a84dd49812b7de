//! Reads system and job files, checks them, wires the parts and runs them.
