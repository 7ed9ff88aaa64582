// Package garbagecollection deletes claims whose instance is gone: ended by hand, reclaimed, or failed.
//
// A claim counts as such if the provider neither lists its instance nor finds it when asked, and if its node, when
// there is one, is not ready. Instances without a claim are the provider's to find: it knows its tags.
package garbagecollection
