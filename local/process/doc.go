// Package process starts programs that outlive the command that started them,
// and stops exactly those again.
//
// A process is identified by its ID and its start time. The system reuses IDs,
// so an ID alone may be that of another process by the time it is signalled.
package process
