// Package cloudtest is the suite that every cloud.Provider must pass. It states the contract as tests: launches happen
// once, also across a crash; claims get what they asked for; shortages are told as such and remembered; nothing outlives
// its context.
//
// A provider's test gives Run a function that opens a fresh world: a cloud without instances and an API server with one
// pool and its node class, ready to use. docs/providers.md walks through writing one.
package cloudtest
