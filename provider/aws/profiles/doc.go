// Package profiles keeps the IAM instance profiles of node classes that name a role: made, given the role, and deleted
// when nothing uses them any more.
//
// The name of a profile is a hash of what it is for, so making it twice gives one. A class whose current profile has the
// right role keeps it, whoever made it.
package profiles
