// Package garbagecollection deletes claims whose instance no longer exists: it was terminated by a user, reclaimed by
// the cloud, or failed.
//
// An instance is considered not to exist if the provider neither lists it nor finds it by ID, and its node, if any, is
// not ready. Instances without a claim are handled by the provider, which finds them by their tags.
package garbagecollection
