// Package process starts programs that outlive the command that started them, and stops exactly these processes later.
//
// A process is identified by its ID and its start time. The system reuses IDs, so when a process is signalled, its ID
// alone may belong to another process.
package process
