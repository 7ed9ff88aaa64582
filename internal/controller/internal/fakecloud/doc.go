// Package fakecloud is a cloud in memory for the tests of controllers. Instances exist immediately after Create, and no
// longer exist after the second call of Delete. Tests can replace the result of every method.
package fakecloud
