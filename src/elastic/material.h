// Fixed corotated elasticity: psi = mu |F - R|^2 + lambda/2 (J - 1)^2, J/m3 (Stomakhin et al.
// 2012). Small strains are linear elasticity with Young's modulus and Poisson's ratio; 2D is plane
// strain.
#pragma once

typedef struct Material {
    double mu, lambda; ///< Pa
} Material;

Material material_of(double young, double poisson);

/// F = P diag(s) Q^T, P and Q rotations; the last s takes the sign of det F. Row major [3][3], in
/// 2D the upper left [2][2].
typedef struct Svd {
    double p[9], q[9], s[3];
} Svd;
Svd svd_of(int dim, const double f[9]);

/// Energy density at F, and dpsi/dF in `stress` (may be NULL).
double material_energy(const Material *m, int dim, const double f[9], double stress[9]);

void material_cofactor(int dim, const double f[9], double out[9]);

/// The second derivative, made not negative: [9][9] over entries (row, column) of F, 2D [4][4].
/// Left out is lambda (J - 1) d2J; the rest is exact where neighbouring s add up to 2 or more.
void material_hessian(const Material *m, int dim, const double f[9], double *hessian);
