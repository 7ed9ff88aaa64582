// Package awsemu emulates, over HTTP, the AWS APIs that a node autoscaler uses: EC2, SSM, IAM, SQS, Pricing, EKS, ARC zonal shift
// and STS, behind one handler.
//
// It shares no code with the provider, which calls it with the real SDK. It guarantees:
//
//   - the same seed and the same calls in the same order give the same
//     identifiers, prices and choices;
//   - time comes from one clock, which tests may move;
//   - every call is recorded with its parameters and its outcome;
//   - an operation that is not emulated gets the error of AWS for an unknown operation.
//
// Package world has the state and the behaviour of the account; this package decodes requests and encodes responses.
// Package machine emulates the boot of instances, which join a cluster; their metadata service is below
// /_emulator/imds/<id>/. Package control is a client of the control interface below /_emulator/, by which tests and
// users inject faults.
//
// Signatures are not checked.
package awsemu
