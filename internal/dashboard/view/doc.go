// Package view has the types of the JSON that the dashboard shows. Its pure functions compute them from a Snapshot and
// the last decisions of the controllers.
//
// docs/api.md describes each field. A value that is not known is null and never 0. Lists are never null.
package view
