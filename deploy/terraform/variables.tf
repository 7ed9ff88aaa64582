variable "cluster_name" {
  description = "Name of the EKS cluster."
  type        = string
}

variable "trust" {
  description = "How the controller gets its role: PodIdentity, or IRSA (IAM roles for service accounts)."
  type        = string
  default     = "PodIdentity"
  validation {
    condition     = contains(["PodIdentity", "IRSA"], var.trust)
    error_message = "trust is PodIdentity or IRSA."
  }
}

variable "oidc_provider" {
  description = "For IRSA, the cluster's OIDC issuer without https://."
  type        = string
  default     = ""
}

variable "namespace" {
  description = "Namespace of the controller."
  type        = string
  default     = "kube-system"
}

variable "service_account" {
  description = "ServiceAccount of the controller."
  type        = string
  default     = "karpenter"
}

variable "access_entry" {
  description = "Make an access entry that lets nodes join; false if the ConfigMap aws-auth does that."
  type        = bool
  default     = true
}

variable "zonal_shift" {
  description = "Allow the controller to follow zonal shifts (settings.enableZonalShift of the chart)."
  type        = bool
  default     = false
}

variable "tags" {
  description = "Tags of everything that is made."
  type        = map(string)
  default     = {}
}
