// Package archtest checks the architecture: which package may import which, what the engine may use, and how files are
// named, how long they may be, and how they begin.
//
// Its tests read the source and the import graph, and build nothing. Each rule is a line in a table with its reason. Each
// failure names the rule, the reason and a fix. To change the architecture, change the table in the same commit, so that a
// reviewer sees the new reason.
package archtest
