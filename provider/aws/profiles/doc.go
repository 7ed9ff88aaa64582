// Package profiles manages the IAM instance profiles of node classes that name a role: it creates them, adds the role, and
// deletes them when nothing uses them any more.
//
// The name of a profile contains a hash of the region, the class and the role, so a repeated creation makes no second
// profile. A class whose current profile has the right role keeps that profile, even if Karpenter did not create it.
package profiles
