// Package view has the types of the JSON that the dashboard shows. Its pure functions compute them from a Snapshot and the
// last decisions of the controllers.
//
// docs/api.md describes each field. A number that is not known is null and never 0, a text that is not known is empty.
// Lists are never null.
package view
