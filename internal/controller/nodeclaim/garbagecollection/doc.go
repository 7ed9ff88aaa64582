// Package garbagecollection deletes claims whose instance no longer exists, because a user terminated it, the cloud reclaimed it,
// or it failed.
//
// An instance is considered missing if the provider neither lists it nor finds it by ID, and no node of the claim is ready. The
// provider handles instances without a claim, which it finds by their tags.
package garbagecollection
