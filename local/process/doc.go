// Package process starts programs that outlive the command that started them,
// and stops exactly those again.
//
// A process is known by its id and its time of birth. The system gives ids
// away again, so an id alone may name a stranger by the time it is signalled.
package process
