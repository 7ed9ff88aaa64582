// Package nomination writes and clears nominations of pods to the nodes planned for them (docs/scheduling.md, Nominations).
//
// Its only lasting state is whether the API server has refused to patch pods/status. After a restart it tries once more.
package nomination
