// Package launch turns claims into EC2 instances, each exactly once.
//
// A launch chooses types, zones and a capacity type, makes sure of the launch templates, and joins launches with equal
// parameters into one CreateFleet call. Different parameters are different calls, and no lock is held across any: one
// that hangs holds up its own claims only.
//
// # Once
//
// The client token of a fleet call is derived from the UIDs of its claims, the attempt and the parameters. It is stored on
// every claim of the call before the call is made, and put on the instances as a tag. So whatever happens in between,
// what was launched is found again:
//
//   - for a claim with a token, Create first looks for instances with that tag. Instances in order of their ids go to the
//     claims with the token in order of their UIDs, so every reconcile gets the same result. Instances that another claim
//     has are skipped;
//   - if there are none, and the parameters are the same, the call is repeated with the same token, which EC2 answers with
//     the first call's result if there was one. With other parameters it is another attempt, recorded first;
//   - another attempt is made only when the outcome of the last is known: EC2 returned it, or the attempt is so old that
//     DescribeInstances would show its instances. EC2 shows new instances late, and an early retry could launch too many;
//   - claims that are gone or being deleted when the call is recorded are left out of it. A claim whose call may have been
//     made is not given up before the outcome of the call is known;
//   - instances that are assigned to no claim are surplus, and garbage collection terminates them.
//
// The record lives in the claim's annotation AnnotationLaunch. What this process launched is remembered besides; that
// memory only saves calls and may be lost.
package launch
