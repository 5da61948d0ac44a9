package googledialect

// Flatten exposes the rewriting of schemas.
var Flatten = flatten
