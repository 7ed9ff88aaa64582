// Package policy defines the AWS permissions that the controller needs, and no more. The documents in deploy/aws and the page
// docs/permissions.md are generated from it, and the emulated AWS enforces it in tests.
package policy
