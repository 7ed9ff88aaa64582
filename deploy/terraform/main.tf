# What Karpenter needs in an account for one EKS cluster: roles, permissions, and the queue of interruptions.

data "aws_partition" "current" {}
data "aws_region" "current" {}
data "aws_caller_identity" "current" {}

locals {
  node_role = "KarpenterNodeRole-${var.cluster_name}"
  queue     = var.cluster_name
  # Permissions are generated from provider/aws/policy; see policies/.
  policies = toset(concat(
    ["NodeLifecycle", "InstanceProfiles", "Cluster", "Interruption", "Discovery"],
    var.zonal_shift ? ["ZonalShift"] : [],
  ))
  events = {
    health            = { source = "aws.health", type = "AWS Health Event" }
    spot_interruption = { source = "aws.ec2", type = "EC2 Spot Instance Interruption Warning" }
    rebalance         = { source = "aws.ec2", type = "EC2 Instance Rebalance Recommendation" }
    state_change      = { source = "aws.ec2", type = "EC2 Instance State-change Notification" }
    reservation       = { source = "aws.ec2", type = "EC2 Capacity Reservation Instance Interruption Warning" }
  }
}

# What nodes are.

resource "aws_iam_role" "node" {
  name = local.node_role
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.${data.aws_partition.current.dns_suffix}" }
      Action    = "sts:AssumeRole"
    }]
  })
  tags = var.tags
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = toset([
    "AmazonEKS_CNI_Policy",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
  ])
  role       = aws_iam_role.node.name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/${each.value}"
}

resource "aws_eks_access_entry" "node" {
  count         = var.access_entry ? 1 : 0
  cluster_name  = var.cluster_name
  principal_arn = aws_iam_role.node.arn
  type          = "EC2_LINUX"
  tags          = var.tags
}

# Who the controller is.

resource "aws_iam_role" "controller" {
  name = "KarpenterControllerRole-${var.cluster_name}"
  assume_role_policy = var.trust == "IRSA" ? jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect = "Allow"
      Principal = {
        Federated = "arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:oidc-provider/${var.oidc_provider}"
      }
      Action = "sts:AssumeRoleWithWebIdentity"
      Condition = {
        StringEquals = {
          "${var.oidc_provider}:sub" = "system:serviceaccount:${var.namespace}:${var.service_account}"
          "${var.oidc_provider}:aud" = "sts.${data.aws_partition.current.dns_suffix}"
        }
      }
    }]
    }) : jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "pods.eks.amazonaws.com" }
      Action    = ["sts:AssumeRole", "sts:TagSession"]
      Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
    }]
  })
  tags = var.tags
  lifecycle {
    precondition {
      condition     = var.trust != "IRSA" || var.oidc_provider != ""
      error_message = "IRSA needs oidc_provider."
    }
  }
}

resource "aws_eks_pod_identity_association" "controller" {
  count           = var.trust == "PodIdentity" ? 1 : 0
  cluster_name    = var.cluster_name
  namespace       = var.namespace
  service_account = var.service_account
  role_arn        = aws_iam_role.controller.arn
  tags            = var.tags
}

resource "aws_iam_policy" "controller" {
  for_each = local.policies
  name     = "Karpenter${each.value}-${var.cluster_name}"
  policy = templatefile("${path.module}/policies/${each.value}.json.tftpl", {
    partition  = data.aws_partition.current.partition
    url_suffix = data.aws_partition.current.dns_suffix
    region     = data.aws_region.current.name
    account    = data.aws_caller_identity.current.account_id
    cluster    = var.cluster_name
    node_role  = local.node_role
    queue      = local.queue
  })
  tags = var.tags
}

resource "aws_iam_role_policy_attachment" "controller" {
  for_each   = local.policies
  role       = aws_iam_role.controller.name
  policy_arn = aws_iam_policy.controller[each.value].arn
}

# What tells the controller of interruptions.

resource "aws_sqs_queue" "interruption" {
  name                      = local.queue
  message_retention_seconds = 3600
  sqs_managed_sse_enabled   = true
  tags                      = var.tags
}

resource "aws_sqs_queue_policy" "interruption" {
  queue_url = aws_sqs_queue.interruption.url
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "EventsMayBeSent"
        Effect    = "Allow"
        Principal = { Service = ["events.amazonaws.com", "sqs.amazonaws.com"] }
        Action    = "sqs:SendMessage"
        Resource  = aws_sqs_queue.interruption.arn
        Condition = { StringEquals = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
      },
      {
        Sid       = "OnlyWithTLS"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = aws_sqs_queue.interruption.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_cloudwatch_event_rule" "interruption" {
  for_each      = local.events
  name_prefix   = "karpenter-${replace(each.key, "_", "-")}-"
  description   = "${each.value.type}, for Karpenter in ${var.cluster_name}"
  event_pattern = jsonencode({ source = [each.value.source], "detail-type" = [each.value.type] })
  tags          = var.tags
}

resource "aws_cloudwatch_event_target" "interruption" {
  for_each  = local.events
  rule      = aws_cloudwatch_event_rule.interruption[each.key].name
  target_id = "KarpenterQueue"
  arn       = aws_sqs_queue.interruption.arn
}
