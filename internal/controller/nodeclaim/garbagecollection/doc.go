// Package garbagecollection deletes claims whose instance is gone: ended by hand, reclaimed, or failed.
//
// An instance counts as gone if the provider neither lists it nor finds it by ID, and its node, if any, is not ready.
// Instances without a claim are found by the provider, by their tags.
package garbagecollection
