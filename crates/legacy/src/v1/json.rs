//! The two JSON files beside version 1 recordings.
//!
//! `session.json` lists the launches of a session. `prlx-sites.json` lists the source locations of site ids.
//! Both are arrays of the rows below.
//!
//! # Invariants
//! Paths in `session.json` never lead outside its folder.

use serde::{Deserialize, Serialize};

/// A launch of a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SessionEntry {
    /// Number of the launch in the session, from 0.
    pub launch: u32,
    /// Name of the kernel, as in the module.
    pub kernel: String,
    /// Path of its recording, as the writer spelled it: often absolute or with the folder.
    pub file: String,
    /// Grid size in CTAs; zeros if the writer did not know it.
    pub grid: [u32; 3],
    /// CTA size in threads; zeros if the writer did not know it.
    pub block: [u32; 3],
}

impl SessionEntry {
    /// Possible paths of the recording below the session's folder, most likely first: the path as written if
    /// it stays inside, then the file name alone, for a session that was moved.
    ///
    /// # Errors
    /// If the path names no file.
    pub fn places(&self) -> Result<Vec<String>, String> {
        let parts: Vec<&str> = self.file.split(['/', '\\']).filter(|p| !p.is_empty() && *p != ".").collect();
        let Some(name) = parts.last().filter(|n| **n != ".." && !self.file.contains('\0')) else {
            return Err(format!("launch {}: `{}` names no file", self.launch, self.file.escape_debug()));
        };
        let absolute = self.file.starts_with(['/', '\\']) || parts.first().is_some_and(|p| p.ends_with(':'));
        let mut places = Vec::new();
        if !absolute && parts.len() > 1 && !parts.contains(&"..") {
            places.push(parts.join("/"));
        }
        places.push((*name).to_owned());
        Ok(places)
    }
}

/// A row of `prlx-sites.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteEntry {
    /// Site id in events.
    pub site_id: u32,
    /// Source file, as the compiler spelled it.
    pub filename: String,
    /// Mangled name of the function that holds the site.
    pub function: String,
    /// Line, from 1; 0 if not known.
    pub line: u32,
    /// Column, from 1; 0 if not known.
    pub column: u32,
    /// Number of the event kind.
    pub event_type: u32,
    /// Number among the sites without a location.
    #[serde(default)]
    pub ordinal: u32,
}
