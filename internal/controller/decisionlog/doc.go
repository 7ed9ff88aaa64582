// Package decisionlog has the controllers of the decision log. An episode of the log is a decision with its effects. Effects
// observes NodeClaims and adds the effects of decisions to the log. Publisher writes the newest episodes to a ConfigMap.
// Commands of the CLI and the next leader read it.
package decisionlog
