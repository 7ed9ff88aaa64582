// Package interruption decides what to do about notices that instances are going away or have gone bad.
//
// Decide is a pure function: notices, claims and nodes go in; one Action for each claim that is concerned comes out. It
// promises that
//
//   - of several notices about one instance only the most urgent one counts;
//   - a claim that is being deleted gets no action: a notice that arrives twice does no harm;
//   - a claim is deleted only if its instance cannot be kept. A recommendation becomes an event and nothing else;
//   - a deadline is set only where pods cannot be trusted to end in order, and never replaces one that is set already;
//   - actions come in the order of claim names, whatever the order of the input.
//
// What each kind of notice calls for is one table: responses.
//
// The rules are Karpenter's: https://karpenter.sh/docs/concepts/disruption/#interruption
package interruption
