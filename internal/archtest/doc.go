// Package archtest keeps the architecture: which package may know which, what the engine may use, and how files are
// named, sized and begun.
//
// Its tests read the source and the import graph; nothing is built. Each rule is a line in a table with its reason, and each
// failure says the rule, the reason and the way out. To change the architecture, change the table in the same commit, so
// that whoever reviews it sees the reason change too.
package archtest
