// Package lint finds mistakes in manifests before they are applied: fields that the API server or the controller would
// reject, fields without effect, and settings that have more effect than their author intends.
//
// Every Finding names its rule, file, line and a fix, and the object and field if it is about one. An error is for a
// manifest that cannot work, a warning for one that works in an unexpected way, a note for information. Rules lists the
// rules with their severity.
//
// The findings depend only on the manifests and the Options.
package lint
