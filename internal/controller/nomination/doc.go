// Package nomination keeps pods nominated to the nodes that they were planned for (docs/scheduling.md, Nominations).
//
// In memory is only that the API server has refused. After a restart it is asked once more.
package nomination
