// Package failover has end-to-end tests with two replicas of the controller and leader election. Replicas are killed, paused
// and robbed of their lease; the API server and etcd are killed. Afterwards nothing is lost, and
// nothing was launched twice.
//
// By default only the shortest test runs. With KARPENTER_LONG=1 all do; -churn sets how long the controllers are kept busy to
// see whether their memory, goroutines and files stay bounded.
package failover
