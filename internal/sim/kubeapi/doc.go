// Package kubeapi is a Kubernetes API server in memory, behind an http.RoundTripper.
//
// Real clients work against it: client-go, informers and controller-runtime. It has what a controller can observe of
// kube-apiserver:
//
//   - get, list, create, update, patch (JSON, merge, strategic merge), delete, and watch, with label and field selectors;
//   - optimistic concurrency by resourceVersion, generateName, uid, generation, and status as a subresource;
//   - finalizers, graceful deletion of pods, preconditions of deletes;
//   - watches from a resourceVersion, bookmarks, streamed initial lists, and the error 410 for versions that are too old;
//   - the subresources eviction (with PodDisruptionBudgets) and binding;
//   - admission of our own kinds by the schemas and CEL rules of their CRDs;
//   - discovery, /version and access reviews, which allow everything.
//
// It has no authentication, quotas, webhooks, server-side apply, pagination or metadata-only answers. Namespaces need not
// exist. Objects of Kubernetes' own kinds get defaults and are validated only in what controllers observe. Package cluster
// deletes the dependents of deleted owners, and ignores the propagation policy.
//
// Parts of a simulation that are not under test write typed objects with Create, Update, UpdateStatus and Delete, and follow
// writes with OnWrite. Each request is one step: Server.Serve does all of it before it returns, and nothing happens between
// requests. Time comes from Config.Now. Names and uids come from Config.Seed, so the same requests in the same order give
// the same objects.
//
// A Server is safe for use by one goroutine at a time.
package kubeapi
