package v1

// CompatibilityGroup is the domain of annotations that are kept for compatibility with older versions.
const CompatibilityGroup = "compatibility." + Group

// TerminationFinalizer prevents the deletion of an EC2NodeClass while claims use it.
const TerminationFinalizer = Group + "/termination"

// Annotations of EC2NodeClasses and the claims that use them.
const (
	// AnnotationEC2NodeClassHash is the hash of the class by which drift is detected.
	AnnotationEC2NodeClassHash = Group + "/ec2nodeclass-hash"
	// AnnotationEC2NodeClassHashVersion is the version of the hash.
	AnnotationEC2NodeClassHashVersion = Group + "/ec2nodeclass-hash-version"
	// AnnotationInstanceProfile is the instance profile with which a claim was launched.
	AnnotationInstanceProfile = Group + "/instance-profile-name"
	// AnnotationInstanceTagged is "true" once the instance has the tags with the names of its node and claim.
	AnnotationInstanceTagged = Group + "/tagged"
	// AnnotationClusterNameTagged is "true" once the instance has the tag with the name of the cluster.
	AnnotationClusterNameTagged = CompatibilityGroup + "/cluster-name-tagged"
)

// Keys of EC2 tags that Karpenter sets. The tags of a node class may have none of these keys except TagName.
const (
	// TagEKSClusterName is the cluster's name.
	TagEKSClusterName = "eks:eks-cluster-name"
	// TagClusterPrefix, followed by the cluster's name, is the tag of its resources.
	TagClusterPrefix = "kubernetes.io/cluster/"
	// TagNodePool is the pool of an instance.
	TagNodePool = "karpenter.sh/nodepool"
	// TagNodeClaim is the claim of an instance.
	TagNodeClaim = "karpenter.sh/nodeclaim"
	// TagNodeClass is the node class of an instance.
	TagNodeClass = LabelNodeClass
	// TagName is the name the console shows.
	TagName = "Name"
)

// AMI families.
const (
	AMIFamilyAL2          = "AL2"
	AMIFamilyAL2023       = "AL2023"
	AMIFamilyBottlerocket = "Bottlerocket"
	AMIFamilyCustom       = "Custom"
	AMIFamilyWindows2019  = "Windows2019"
	AMIFamilyWindows2022  = "Windows2022"
	AMIFamilyWindows2025  = "Windows2025"
)

// AliasVersionLatest is the version of an alias that follows new images.
const AliasVersionLatest = "latest"
