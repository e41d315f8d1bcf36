# Read the copies of this release, or replicates of it, fit one model to each, and combine the estimates.
#
#   source("combine.R")
#   combine(log(pay) ~ sex + age)                                  # all copies beside this script, by lm
#   combine(sex == "F" ~ agency, fit = function(f, d) glm(f, binomial, d))
#   combine(log(pay) ~ sex, replicates = "../release-replicates")  # what `hedgerow sample . --replicates 20` made
#
# Rules, with u the mean of the variances within copies, b the variance between m copies, k rows of a copy and n those
# of the table it stands for:
#   simple      copies drawn from one fitted model, as `hedgerow sample` draws them: u (k / n + 1 / m)
#   partial     some columns synthetic, parameters drawn anew for each copy (Reiter 2003): u + b / m
#   full        all columns synthetic, parameters drawn anew (Raghunathan, Reiter and Rubin 2003): (1 + 1/m) b - u
#   replicates  files whose spread around the released one is its uncertainty: u of the released one, for the sampling
#               of the true rows, and the mean squared distance of the m replicates' estimates from its own, with m
#               degrees of freedom (Satterthwaite); sampling = FALSE leaves u out
# None but the last counts the noise that all copies of one release share.

read_one <- function(file) {
  if (grepl("\\.csv$", file)) return(utils::read.csv(file, stringsAsFactors = TRUE, encoding = "UTF-8"))
  if (grepl("\\.dta$", file)) return(as.data.frame(haven::as_factor(haven::read_dta(file))))
  if (grepl("\\.sav$", file)) return(as.data.frame(haven::as_factor(haven::read_sav(file))))
  if (grepl("\\.parquet$", file)) return(as.data.frame(arrow::read_parquet(file)))
  stop("cannot read ", file)
}

copies_of <- function(folder = ".") {
  for (kind in c("sav", "dta", "csv", "parquet")) {
    found <- Sys.glob(file.path(folder, paste0("records*.", kind)))
    if (length(found)) return(found)
  }
  stop("no records in ", folder)
}

# The data of every replicate in a folder, one at a time: files, or columns beside those of the released file.
replicates_in <- function(folder) {
  files <- Sys.glob(file.path(folder, "*-seed*.*"))
  if (!length(files)) stop("no replicates in ", folder)
  kind <- sub(".*\\.", "", files[1])
  released <- grep("records(-1)?\\.", Sys.glob(paste0("records*.", kind)), value = TRUE)[1]
  if (!grepl("^columns-", basename(files[1]))) return(list(released = released, m = length(files),
                                                           data = function(i) read_one(files[i])))
  first <- read_one(released); columns <- read_one(files[1])
  names <- unique(sub("_[0-9]+$", "", names(columns)))
  beside <- function(i) { for (name in names) first[[name]] <- columns[[paste0(name, "_", i)]]; first }
  list(released = released, m = ncol(columns) / length(names), data = beside)
}

# What `hedgerow sample` wrote beside the replicates of a release that they do not tell all errors of.
warn_of <- function(formula, folder) {
  said <- file.path(folder, "WARNING.txt"); columns <- all.vars(formula)
  if (file.exists(said) && (length(columns) > 1 || "." %in% columns))
    warning(paste(readLines(said, encoding = "UTF-8"), collapse = " "), call. = FALSE, immediate. = TRUE)
}

combine <- function(formula, files = copies_of(), rule = "simple", n = NULL, fit = function(f, d) stats::lm(f, data = d),
                    released = copies_of()[1], replicates = NULL, sampling = TRUE) {
  tables <- list(released = released, m = length(files), data = function(i) read_one(files[i]))
  if (!is.null(replicates)) { tables <- replicates_in(replicates); rule <- "replicates"; warn_of(formula, replicates) }
  models <- lapply(seq_len(tables$m), function(i) fit(formula, tables$data(i)))
  names <- Reduce(intersect, lapply(models, function(m) names(stats::coef(m))))
  values <- sapply(models, function(m) stats::coef(m)[names])
  within <- sapply(models, function(m) diag(stats::vcov(m))[names])
  values <- matrix(values, nrow = length(names)); within <- matrix(within, nrow = length(names))
  m <- ncol(values); u <- rowMeans(within); b <- if (m > 1) apply(values, 1, stats::var) else 0 * u
  k <- mean(sapply(models, stats::nobs)); estimate <- rowMeans(values); wide <- stats::qnorm(0.975)
  size <- if (is.null(n)) 1 else k / n
  variance <- switch(rule,
    simple = u * (size + 1 / m),
    partial = u + b / m,
    full = ifelse((1 + 1 / m) * b - u > 0, (1 + 1 / m) * b - u, u * size),
    replicates = {
      first <- fit(formula, read_one(tables$released))
      estimate <- stats::coef(first)[names]
      spread <- rowMeans((values - estimate)^2)
      total <- sampling * diag(stats::vcov(first))[names] + spread
      wide <- stats::qt(0.975, m * (total / pmax(spread, 1e-3 * total))^2)
      total
    },
    stop("rule is simple, partial, full or replicates"))
  error <- sqrt(variance)
  data.frame(term = names, estimate = unname(estimate), error = unname(error), low = unname(estimate - wide * error),
             high = unname(estimate + wide * error), copies = m, rule = rule)
}
