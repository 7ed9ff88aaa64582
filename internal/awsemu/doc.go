// Package awsemu emulates the parts of AWS that a node autoscaler talks to,
// over the wire: EC2, SSM, IAM, SQS, Pricing, EKS and STS behind one HTTP
// handler.
//
// It is an outsider: it shares no code with the provider and meets it only
// through requests that the real SDK sends. It promises that
//
//   - the same seed and the same calls in the same order give the same
//     identifiers, prices and choices;
//   - time comes from one clock, which tests may move;
//   - every call is recorded with its parameters and its outcome;
//   - an operation that is not emulated is refused as AWS refuses an unknown
//     one, never answered with something made up.
//
// What happens in the account is decided in package world; this package reads
// requests and writes answers. Package machine lets instances boot and join a
// cluster; below /_emulator/imds/<id>/ each finds its metadata service.
// Package control is a client of the control interface below
// /_emulator/, by which tests and people break things on purpose.
//
// Signatures are accepted, not checked.
package awsemu
