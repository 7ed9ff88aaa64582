// Package decisionlog has the controllers of the decision log. Effects observes NodeClaims and adds the effects of
// decisions to the log. Publisher writes the newest episodes to a ConfigMap, from which command lines and the next leader
// read them.
package decisionlog
