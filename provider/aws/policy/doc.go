// Package policy defines exactly the AWS permissions that the controller needs. The documents in deploy/aws and the
// page docs/permissions.md are generated from it, and the emulated AWS enforces the permissions in tests.
package policy
