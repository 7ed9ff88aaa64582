// Package remote implements cloud.Provider for a provider in another process. That process implements the protocol in
// cloud/proto (docs/provider-protocol.md).
//
// The other process is not trusted, may be slow, and may end. Every response is checked (package wire), every call has a
// deadline, and the number of concurrent calls is bounded. If the provider does not answer for a while, its node classes
// count as not ready, so that pods are planned onto other NodePools. Other providers are not affected.
//
// State in memory is rebuilt from the provider: the catalogues by their streams, shortages by the next failed launch. The
// facts about the provider must not change while the controller runs. The last ones are stored in a ConfigMap, so that the
// controller can start while the provider does not run.
package remote
