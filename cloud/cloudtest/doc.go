// Package cloudtest is the test suite that every cloud.Provider must pass. Among others it checks: a claim is launched
// once, also if the process crashes during the launch; the instance meets the claim's requirements; a lack of capacity
// is reported with its error type and remembered; calls return when their context ends.
//
// A test of a provider calls Run with a function. The function opens a new world for each check: a cloud without
// instances, and an API server with one NodePool and its node class, ready to use. docs/providers.md explains how to
// write such a test.
package cloudtest
