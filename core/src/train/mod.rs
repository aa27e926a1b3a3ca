//! Sessions: an algorithm on an environment under one or several seeds, stepped, saved and evaluated.
