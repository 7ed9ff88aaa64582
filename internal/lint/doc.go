// Package lint finds mistakes in manifests before an API server, a controller or a bill does: what would be rejected, what
// would be accepted without effect, and what would do more than its author intends.
//
// Every Finding names its rule, file, line and field, and what to do about it. An error is what cannot work; a warning is
// what works otherwise than it seems to; a note is what is worth knowing. Rules are listed in Rules, with their severity.
//
// It is a pure function of the manifests and of the instance types that it is given.
package lint
