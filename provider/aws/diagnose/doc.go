// Package diagnose determines why a node does not join. It reads the console of instances whose
// nodes have not joined in time, and writes the cause and the next step to a condition of the
// claim. No other state is kept, except which messages were logged.
package diagnose
