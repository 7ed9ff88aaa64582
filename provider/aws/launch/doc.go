// Package launch launches EC2 instances for claims, one per claim.
//
// Launcher.Launch gets a claim, its node class and the instance types of the class, and returns the claim's instance. Its steps:
//
//  1. look for an instance that was launched for the claim before, or for a pending launch of it (launchCache, findEarlier);
//  2. choose the capacity type, instance types and zones (Choose);
//  3. divide the types into groups with a launch template each (templateGroups), and create missing templates (TemplateStore);
//  4. combine launches with equal parameters into one CreateFleet call (package batch), and record the call on its claims
//     (recordCall);
//  5. make the call and assign its instances to the claims (createFleet). Its errors show which offerings are unavailable
//     (recordErrors).
//
// Launcher.CancelAndFind, for deleted claims, and Launcher.Surplus, for garbage collection, use the same records.
// Launcher.Check tells by dry runs whether launches from a node class are possible. No lock is held during a call, so a call
// that does not return delays only its own claims.
//
// # One instance per claim
//
// The client token of a fleet call is derived from the UIDs of its claims, the attempt and the parameters. It is stored
// on every claim of the call before the call is made, and is a tag of the instances. So the instances are found again
// after a crash at any point:
//
//   - for a claim with a token, Launch first looks for instances with that tag. Instances in order of their ids go to the
//     claims with the token in order of their UIDs, so every reconcile gets the same result. Instances that another claim
//     has are skipped;
//   - if there are none, and the parameters are the same, the call is repeated with the same token. If the first call
//     was made, EC2 then returns its result. With other parameters, it is another attempt, which is recorded first;
//   - another attempt is made only when the outcome of the last one is known. Either EC2 returned it, or the call ended so
//     long ago that DescribeInstances would list its instances. EC2 lists new instances late, and an early retry could
//     launch too many. When the call of another process ended is not known, so the time counts from the first look at it;
//   - claims that are deleted or being deleted when the call is recorded are omitted. If the call for a claim may have
//     been made, the claim is not released before the outcome of the call is known;
//   - instances that are assigned to no claim are surplus, and garbage collection terminates them.
//
// The record is the claim's annotation AnnotationLaunch. It has the hash of the node class too, so that an instance that is found
// again drifts if the class has changed since. In addition, launches of this process are cached in memory
// (type launchCache). The cache only saves calls and may be lost.
package launch
