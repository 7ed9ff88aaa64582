// Package failover has end-to-end tests with two replicas of the controller and leader election. Replicas are killed,
// paused, or lose their lease. The API server and etcd are killed, and etcd is restored to an earlier state. Afterwards no
// object is lost, and no instance was launched twice.
//
// By default only the shortest test runs. With KARPENTER_LONG=1 all run. -churn sets how long a replica is kept busy
// to check that its memory, goroutines and files stay bounded.
package failover
