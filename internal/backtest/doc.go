// Package backtest computes what a recorded day of a cluster would have cost under other NodePools and settings. It
// replays the pods of a trace on a virtual clock with two decisions of the engine: plans for pending pods, and
// disruption. There are no controllers, no API server and no cloud.
//
// The same trace, policies and settings give the same result on any machine. A replay reads no clock, uses no random
// numbers, and breaks ties by the order of the trace.
//
// docs/backtest.md describes the simplifications.
package backtest
